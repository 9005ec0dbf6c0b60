"""More of the table of `path_table`: TensorFlow's private modules of its library (Keras, estimators, training, data)."""

from __future__ import annotations

#: As `path_table.TABLE`.
LIBRARY_TABLE = """
keras.optimizer_v2 : keras.optimizers
keras.premade : keras.experimental
keras.optimizer_v2.{adadelta adagrad adam adamax ftrl gradient_descent nadam rmsprop} : keras.optimizers
keras.optimizer_v2.optimizer_v2 : python.keras_names keras.base_optimizer
keras.optimizer_v2.learning_rate_schedule : keras.learning_rate_schedules
keras.engine.{base_layer base_layer_utils node} : python.keras_names keras.layers keras.models keras.op_layers keras.call_nodes keras.utils python.keras_package
keras.engine.input_spec : keras.layers layers.base
keras.layers.dense_attention : keras.layers keras.layers.attention
keras.layers.rnn_cell_wrapper_v2 : rnn.cells nn
keras.saving.{save model_config} : keras.models
keras.saving.saved_model_experimental : keras.experimental
keras.saving.saving_utils : python.keras_saving
keras.utils.kernelized_utils : keras.layers.kernelized
keras.utils.mode_keys : python.mode_keys
keras.utils.metrics_utils : python.keras_names keras.confusion_metrics
keras.utils.losses_utils : python.keras_names losses keras.losses
keras.{model_subclassing_test_util} : python.keras_test_models
keras.{testing_utils keras_parameterized} : python.keras_modes python.keras_tests python.keras_test_models
keras.backend_config : keras.backend
keras.callbacks_v1 : keras.callbacks
keras.datasets.cifar : keras.datasets.cifar10
keras.premade.linear : keras.linear_models keras.experimental
keras.premade.wide_deep : keras.linear_models keras.experimental
python.estimator.canned.{metric_keys prediction_keys} : python.estimator_names
python.estimator.canned.{kmeans rnn saved_model_estimator boosted_trees_utils} : estimator contrib.estimator estimator.recurrent estimator.kmeans
python.estimator.canned.{baseline dnn_linear_combined boosted_trees} : python.estimator_names estimator contrib.estimator
python.estimator.canned.{dnn linear} : python.heads python.estimator_names estimator estimator.logit_functions contrib.estimator
python.estimator.model_fn : python.estimator_names estimator estimator.logit_functions
python.estimator.early_stopping : estimator.early_stopping estimator.experimental
python.estimator.export.export : estimator.export estimator
python.estimator.gc : python.checkpoint_gc
python.estimator.hooks.fake_summary_writer : contrib.testing
python.estimator.extenders : contrib.estimator estimator.extenders
python.estimator.keras : keras.estimator
python.estimator.tpu.{tpu_config tpu_estimator tpu_context} : contrib.tpu estimator.tpu
contrib.estimator.python.estimator.{logit_fns boosted_trees export exporter} : contrib.estimator estimator.logit_functions
contrib.learn.python.learn.utils.gc : python.checkpoint_gc
contrib.checkpoint.python.containers : contrib.checkpoint
contrib.quantize.python.quantize_graph : contrib.quantize
contrib.learn.python.learn.{basic_session_run_hooks session_run_hook monitored_session} : train
contrib.learn.python.learn.summary_writer_cache : summary
contrib.learn.python.learn.learn_io : contrib.learn.io python.learn_io_names
contrib.learn.python.learn.learn_io.data_feeder : contrib.learn.data_feeder
contrib.learn.python.learn.learn_io.{numpy_io pandas_io graph_io generator_io} : contrib.learn.io
contrib.learn.python.learn.utils : contrib.learn.exports contrib.learn.export_signatures
contrib.learn.python.learn.utils.{input_fn_utils saved_model_export_utils} : contrib.learn.exports contrib.learn.export_signatures
contrib.learn.python.learn.ops : contrib.learn.ops
contrib.learn.python.learn.ops.{embeddings_ops losses_ops seq2seq_ops} : contrib.learn.ops
python.estimator.inputs.queues.{feeding_functions feeding_queue_runner} : python.feeding_names
contrib.learn.python.learn.dataframe.queues.{feeding_functions feeding_queue_runner} : python.feeding_names
contrib.learn.python.learn.estimators.tensor_signature : contrib.learn.tensor_signature
contrib.learn.python.learn.estimators.rnn_common : contrib.learn.rnn_parts python.rnn_estimator_names
contrib.learn.python.learn.estimators.dynamic_rnn_estimator : contrib.learn.dynamic_rnn contrib.learn.rnn_parts python.rnn_estimator_names
contrib.learn.python.learn.export_strategy : contrib.learn.exports
contrib.opt.python.training.{reg_adagrad_optimizer shampoo multitask_optimizer_wrapper} : contrib.opt
contrib.opt.python.training.{adam_gs_optimizer lazy_adam_gs_optimizer} : contrib.opt
contrib.testing.python.framework.util_test : contrib.testing
contrib.framework.python.ops.prettyprint_ops : contrib.framework
python.debug.lib.debug_data : python.debug
python.debug.wrappers.{hooks local_cli_wrapper dumping_wrapper grpc_wrapper} : python.debug
contrib.linear_optimizer.python.sdca_optimizer : contrib.linear_optimizer
contrib.linear_optimizer.python.ops.{sdca_ops sparse_feature_column} : contrib.sdca
contrib.linear_optimizer.python.sdca_estimator : contrib.learn.svm contrib.learn.sdca_models
contrib.timeseries.python.timeseries : contrib.timeseries
contrib.timeseries.python.timeseries.{ar_model estimators head state_management saved_model_utils} : contrib.timeseries
contrib.timeseries.python.timeseries.model : contrib.timeseries.models
contrib.timeseries.python.timeseries.feature_keys : contrib.timeseries.keys
contrib.timeseries.python.timeseries.{input_pipeline model_utils} : contrib.timeseries.readers contrib.timeseries.series_data
contrib.timeseries.python.timeseries.math_utils : contrib.timeseries.input_statistics contrib.timeseries.models
contrib.learn.python.learn.estimators.svm : contrib.learn.svm contrib.learn.sdca_models
contrib.learn.python.learn.estimators.dnn_linear_combined : contrib.learn python.learn_names
python.training.tracking.tracking : ops.trackable python.tracked_resources train
python.training.saver_test_utils : python.saver_tests
python.training.tracking.python_state : train.experimental
python.training.tracking.{graph_view layer_utils} : train.object_graph keras.layer_tree
python.training.saving.{functional_saver saveable_object_util} : train.saveables train
python.training.{distribute distribution_strategy_context} : distribute
python.data.experimental.kernel_tests.serialization.dataset_serialization_test_base : python.dataset_serialization_tests
python.data.experimental.ops.iterator_ops : data.experimental train.iterator_checkpoints
python.data.experimental.kernel_tests.reader_dataset_ops_test_base : python.dataset_reader_tests
python.data.experimental.ops.readers : data.experimental python.dataset_readers
python.data.util.options : data.options
python.data.util.convert : python.data_conversions
python.saved_model.main_op_impl : saved_model.main_op
python.ops.losses.{loss_reduction util} : losses python.keras_names
python.framework.{auto_control_deps op_def_library registry} : python.framework_parts
python.framework.subscribe : python.subscriptions
python.framework.{combinations test_combinations} : python.test_combinations
python.eager.tape : python.framework_parts
python.platform.build_info : python.framework_parts
python.util.{is_in_graph_mode keyword_args} : python.framework_parts
core.lib.core.error_codes_pb2 : errors
tools.graph_transforms : python.tools.graph_transforms
python.layers.utils : python.layer_sizes layers.base python.layer_names
"""
