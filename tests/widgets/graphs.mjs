// Graphs for the JavaScript tests; the same as graphs.py makes.
export function node(name, op = "Add", inputs = [], more = {}) {
  return { name, op, device: "", inputs, outputs: [{ dtype: "float32", shape: "()" }], attrs: {}, source: { file: "lesson.py", line: 7, cell: 4 }, ...more };
}

export function lesson() {
  const int = { outputs: [{ dtype: "int32", shape: "()" }] };
  return [
    node("x", "Const", [], { ...int, value: "2" }),
    node("y", "Const", [], { ...int, value: "3" }),
    node("add_op", "Add", ["x:0", "y:0"], int),
    node("mul_op", "Mul", ["x:0", "y:0"], int),
    node("useless", "Mul", ["x:0", "add_op:0"], int),
    node("pow_op", "Pow", ["add_op:0", "mul_op:0"], int),
  ];
}

export function layers(count) {
  const nodes = [node("x", "Placeholder")];
  let value = "x:0";
  for (let i = 0; i < count; i++) {
    const s = `layer${i}`;
    for (const v of ["W", "b"]) {
      nodes.push(node(`${s}/${v}/initial_value`, "Const"), node(`${s}/${v}`, "VariableV2"), node(`${s}/${v}/Assign`, "Assign", [`${s}/${v}:0`, `${s}/${v}/initial_value:0`]), node(`${s}/${v}/read`, "Identity", [`${s}/${v}:0`]));
    }
    nodes.push(node(`${s}/MatMul`, "MatMul", [value, `${s}/W/read:0`]), node(`${s}/BiasAdd`, "BiasAdd", [`${s}/MatMul:0`, `${s}/b/read:0`]), node(`${s}/Relu`, "Relu", [`${s}/BiasAdd:0`]));
    value = `${s}/Relu:0`;
  }
  nodes.push(node("loss", "Mean", [value]));
  let upstream = "loss:0";
  for (let i = count - 1; i >= 0; i--) {
    nodes.push(node(`gradients/layer${i}/Relu_grad/ReluGrad`, "ReluGrad", [upstream, `layer${i}/Relu:0`]));
    upstream = `gradients/layer${i}/Relu_grad/ReluGrad:0`;
    nodes.push(node(`gradients/layer${i}/MatMul_grad/MatMul`, "MatMul", [upstream, `layer${i}/W/read:0`]));
    nodes.push(node(`train/update${i}/Apply`, "ApplyGradientDescent", [`layer${i}/W:0`, upstream]));
  }
  return nodes;
}

export function chain(count) {
  return Array.from({ length: count }, (_, i) => node(`a${i}`, "Add", i ? [`a${i - 1}:0`] : []));
}

export const EVIL = "<img src=x onerror=window.hacked=1>";
export const DOT_EVIL = 'a"]; evil [label="\\N\\';
