// The steps of a loop that was unrolled: a cell that is called again and again in one scope leaves its ops there side
// by side, MatMul, MatMul_1, ..., and no scope of their own. Pure: tested under node.

const LEAST_STEPS = 4;
const LEAST_OPS = 4; // of one step
const LITTLE = new Set(["Const", "Placeholder", "PlaceholderWithDefault", "NoOp"]);

/**
 * The ops of one scope as steps, [[index, ...], ...], or null. They are steps where the types of the ops recur in the
 * order in which they were made, and one op of every step reads the same variable: layers have their own.
 */
export function stepsOf(model, ops, isVariable) {
  const body = ops.filter((index) => {
    const node = model.nodes[index];
    return !node.role && model.ownerOf[index] < 0 && !isVariable(node) && !LITTLE.has(node.op);
  });
  const types = body.map((index) => model.nodes[index].op);
  for (let period = LEAST_OPS; period * LEAST_STEPS <= types.length; period++) {
    if (types.length % period || types.some((type, i) => type !== types[i % period])) continue;
    const steps = Array.from({ length: types.length / period }, (_, k) => body.slice(k * period, (k + 1) * period));
    if (steps[0].some((_, at) => readByAll(model, steps, at, isVariable))) return withOwn(model, ops, steps);
  }
  return null;
}

function readByAll(model, steps, at, isVariable) {
  const variables = (index) =>
    model.inputs[index].map(({ from }) => (model.ownerOf[from] >= 0 ? model.ownerOf[from] : from)).filter((from) => isVariable(model.nodes[from]));
  const first = variables(steps[0][at]);
  return first.some((variable) => steps.every((step) => variables(step[at]).includes(variable)));
}

/** The steps with the constants and the like that one step alone reads. */
function withOwn(model, ops, steps) {
  const stepOf = new Map(steps.flatMap((step, k) => step.map((index) => [index, k])));
  for (const index of [...ops].reverse()) {
    if (stepOf.has(index) || model.nodes[index].role || model.nodes[index].op === "Placeholder") continue;
    const readers = new Set(model.consumers[index].filter(({ to }) => !model.nodes[to].role).map(({ to }) => stepOf.get(to)));
    const [k] = readers;
    if (readers.size === 1 && k !== undefined) stepOf.set(index, k);
  }
  const all = steps.map(() => []);
  for (const index of ops) if (stepOf.has(index)) all[stepOf.get(index)].push(index);
  return all;
}
