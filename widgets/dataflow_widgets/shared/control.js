// What the nodes of loops and conditions do, in a few words for the node and a sentence beside the graph. Pure: tested under node.
import { parseInput } from "./graph.js";

const WORDS = {
  Enter: ["comes in", "Brings a value into the loop, once, before the first iteration."],
  constant: ["always the same", "Brings a value into the loop that is the same in each iteration."],
  LoopCond: ["once more?", "Says whether the loop goes on: it is asked before each iteration."],
  NextIteration: ["next iteration", "Hands a value to the next iteration, where the loop's Merge takes it."],
  Exit: ["goes out", "Lets a value out of the loop, after the last iteration."],
  loopMerge: ["first or next", "Takes the first value from Enter, and in each later iteration the one from NextIteration."],
  loopSwitch: ["on or out", "Sends the value into the loop's body while the condition is true, and to Exit when it is false."],
  condMerge: ["from one branch", "Takes the value of the branch that ran; the other branch gives none."],
  condSwitch: ["to one branch", "Sends the value to the branch that the predicate chooses; nothing runs in the other."],
};

const opOf = (model, text) => model.get(parseInput(text)[0])?.op;

function roleOf(model, { op, inputs, attrs }) {
  const type = op.replace(/^Ref(?=Switch|Merge|Enter|Exit|NextIteration)/, "");
  if (type === "Enter" && String(attrs?.is_constant) === "True") return "constant";
  if (type === "Merge") return inputs.some((text) => /NextIteration$/.test(opOf(model, text) ?? "")) ? "loopMerge" : "condMerge";
  if (type === "Switch") return inputs.length > 1 && opOf(model, inputs[1]) === "LoopCond" ? "loopSwitch" : "condSwitch";
  return type;
}

/** [words, sentence] of node `index`; two empty texts where it is no such node. */
export const controlWords = (model, index) => WORDS[roleOf(model, model.nodes[index])] ?? ["", ""];
