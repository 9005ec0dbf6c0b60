// Everything that is sent to a page, in one module.  A new widget is one line here.
import clusterPanel from "../cluster_panel/cluster_panel.js";
import clusterView from "../cluster_view/cluster_view.js";
import embeddingView from "../embedding_view/embedding_view.js";
import explorer from "../explorer/explorer.js";
import graphView from "../graph_view/graph_view.js";
import predict from "../predict/predict.js";
import rewritePlayer from "../rewrite_player/rewrite_player.js";
import stepper from "../stepper/stepper.js";
import timeline from "../timeline/timeline.js";
import trainingMonitor from "../training_monitor/training_monitor.js";
import { useStyle } from "./style.js";

export const widgets = {
  cluster_panel: useStyle(clusterPanel),
  cluster_view: useStyle(clusterView),
  embedding_view: useStyle(embeddingView),
  explorer: useStyle(explorer),
  graph_view: useStyle(graphView),
  predict: useStyle(predict),
  rewrite_player: useStyle(rewritePlayer),
  stepper: useStyle(stepper),
  timeline: useStyle(timeline),
  training_monitor: useStyle(trainingMonitor),
};

export { adopt } from "./style.js";
