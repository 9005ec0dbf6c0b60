// The grids of numbers that explorers paint.
import assert from "node:assert/strict";
import test from "node:test";
import { colorOf, paintGrid } from "../../widgets/dataflow_widgets/explorer/panels.js";

function makeCanvas() {
  const canvas = { width: 0, height: 0, times: 0 };
  canvas.getContext = () => ({
    createImageData: (width, height) => ({ data: new Uint8ClampedArray(4 * width * height) }),
    putImageData: (picture) => {
      canvas.times += 1;
      canvas.pixels = [...picture.data];
    },
  });
  return canvas;
}

test("each number has the color of its share, what is no number is gray", () => {
  const canvas = makeCanvas();
  paintGrid(canvas, Float32Array.of(-1, 0.5, NaN, 3), 2, 2, [-1, 3]);
  const wanted = [colorOf(0), colorOf(0.375), [128, 128, 128], colorOf(1)].flatMap((color) => [...color, 255]);
  canvas.pixels.forEach((value, i) => assert.ok(Math.abs(value - wanted[i]) <= 1, `${i}: ${value}, ${wanted[i]}`));
  assert.deepEqual([canvas.width, canvas.height], [2, 2]);
});

test("flipped, the first row is the lowest; bands have one color each", () => {
  const canvas = makeCanvas();
  paintGrid(canvas, Float32Array.of(0, 1), 2, 1, [0, 1], { flip: true });
  assert.deepEqual(canvas.pixels.slice(0, 3), colorOf(1));
  paintGrid(canvas, Float32Array.of(0.1, 0.4, 0.6), 1, 3, [0, 1], { bands: 2 });
  assert.deepEqual(canvas.pixels.slice(0, 3), canvas.pixels.slice(4, 7));
  assert.notDeepEqual(canvas.pixels.slice(4, 7), canvas.pixels.slice(8, 11));
});

test("the same grid is not painted again, a grid that differs in anything is", () => {
  const canvas = makeCanvas();
  const paint = (numbers, limits, options) => paintGrid(canvas, Float32Array.from(numbers), 1, 3, limits, options);
  paint([0, NaN, 1], [0, 1]);
  paint([0, NaN, 1], [0, 1]);
  assert.equal(canvas.times, 1);
  paint([0, NaN, 0.5], [0, 1]);
  paint([0, NaN, 0.5], [0, 2]);
  paint([0, NaN, 0.5], [0, 2], { diverging: true });
  paint([0, NaN, 0.5], [0, 2], { diverging: true, bands: 3 });
  assert.equal(canvas.times, 5);
});
