"""The table of TensorFlow's private modules, and which of ours have their names."""

from __future__ import annotations

#: ``path : homes``. "tf" is dataflow itself; "{a b}" stands for one line with each of its words.
TABLE = """
core.example.{example_pb2 feature_pb2} : formats.example_protos
core.protobuf.queue_runner_pb2 : train.queue_runner_def
core.protobuf.tensorflow_server_pb2 : cluster
python : tf
python.framework.{constant_op sparse_tensor importer versions} : tf graph_util python.private python.other_names ops.sparse_tensor
python.framework.{device device_spec} : python.devices tf
python.framework.random_seed : tf ops.seeds
python.framework.{errors errors_impl} : errors
python.framework.{graph_util graph_util_impl} : graph_util
python.framework.{graph_io meta_graph} : train io tf python.meta_graphs
python.framework.test_util : python.test_decorators test
python.framework.common_shapes : shapes python.private
python.framework.{indexed_slices tensor_like} : tf
python.framework.tensor_spec : ops.type_specs tf
python.framework.type_spec : tf ops.type_specs
python.ops.gen_{array math nn data_flow control_flow linalg spectral}_ops : python.op_functions math nn tf linalg signal
python.ops.gen_{state logging random script string image sparse}_ops : python.op_functions random tf strings image sparse
python.ops.gen_{io parsing lookup functional stateless_random user}_ops : python.op_functions io tf lookup random
python.ops.gen_{dataset experimental_dataset resource_variable}_ops : python.op_functions
python.ops.gen_{ragged_array ragged_math collective nccl summary bitwise batch}_ops : python.op_functions
python.ops.gen_{candidate_sampling ctc list manip set clustering boosted_trees}_ops : python.op_functions
python.ops.gen_{audio checkpoint cudnn_rnn decode_proto encode_proto rnn sdca tensor_forest}_ops : python.op_functions
python.ops.gen_{ragged_conversion stateful_random tpu}_ops : python.op_functions
python.ops.array_ops : tf python.private quantization python.op_functions python.second_versions
python.ops.{math_ops special_math_ops bitwise_ops} : math tf sparse bitwise python.private python.op_functions python.second_versions
python.ops.{control_flow_util_v2 control_flow_v2_toggles control_flow_v2_func_graphs} : tf
python.ops.script_ops : python.script_parts tf python.other_names python.op_functions
python.ops.{cond_v2 while_v2} : python.control_flow_v2 tf
python.module : tf
python.module.module : tf
python.framework.{config framework_lib load_library} : config tf
python.ops.initializers_ns : initializers
python.ops.control_flow_ops : tf debugging python.control_flow_parts ops.control_flow ops.control_flow_context python.op_functions
python.ops.{check_ops standard_ops} : tf debugging python.second_versions
python.ops.functional_ops : tf python.functional_parts random
python.ops.{nn nn_ops nn_impl} : nn tf python.private python.other_names python.op_functions python.second_versions
python.ops.{nn_grad math_grad array_grad control_flow_grad} : tf
python.ops.{data_flow_grad image_grad manip_grad random_grad state_grad rnn_grad tensor_array_grad} : tf
python.ops.{cudnn_rnn_grad optional_grad} : tf
python.ops.{batch_ops session_ops unconnected_gradients quantized_ops} : tf quantization
python.framework.convert_to_constants : python.frozen_functions
python.framework.function_def_to_graph : python.function_graphs
python.ops.list_ops : python.list_parts python.op_functions
python.ops.parallel_for.{control_flow_ops gradients pfor} : python.parallel_for
python.ops.parallel_for.test_util : python.parallel_for_tests
python.ops.{embedding_ops candidate_sampling_ops ctc_ops} : nn tf python.op_functions python.second_versions
python.ops.variables : python.variable_classes tf ops.variables ops.partitioned_variable python.private python.op_functions
python.ops.{variable_scope state_ops} : tf ops.variables ops.variable_store ops.partitioned_variable python.private python.state_parts python.op_functions
python.profiler.{model_analyzer option_builder tfprof_logger} : profiler
contrib.tfprof.tfprof_logger : profiler
python.ops.resources : ops.resources
python.ops.clustering_ops : estimator.clustering
python.ops.resource_variable_ops : ops.resource_variables tf python.private python.op_functions
python.ops.{partitioned_variables template} : tf summary python.op_functions
python.ops.logging_ops : python.other_names tf summary python.op_functions
python.ops.critical_section_ops : ops.critical_section
python.ops.init_ops : initializers tf ops.convolution_initializers ops.initializers keras.initializers
python.ops.init_ops_v2 : keras.initializers python.other_names initializers tf
python.ops.stateful_random_ops : ops.random_generator random
python.ops.random_ops : random tf ops.random python.op_functions
python.ops.{clip_ops numerics} : tf strings python.other_names python.op_functions
python.ops.string_ops : tf strings python.string_names python.private python.op_functions python.second_versions
python.ops.{sparse_ops sparse_grad} : sparse tf python.sparse_names python.op_functions raw_ops
python.ops.{linalg_ops linalg_ops_impl linalg_grad spectral_ops} : linalg tf signal python.op_functions
python.ops.linalg.linalg_impl : linalg python.other_names
python.ops.linalg.{linalg linear_operator linear_operator_adjoint} : linalg
python.ops.linalg.{linear_operator_block_diag linear_operator_circulant} : linalg python.other_names
python.ops.linalg.{linear_operator_composition linear_operator_diag} : linalg
python.ops.linalg.{linear_operator_full_matrix linear_operator_householder} : linalg
python.ops.linalg.{linear_operator_identity linear_operator_inversion} : linalg
python.ops.linalg.{linear_operator_kronecker linear_operator_low_rank_update} : linalg
python.ops.linalg.{linear_operator_lower_triangular linear_operator_toeplitz} : linalg python.other_names
python.ops.linalg.{linear_operator_zeros} : linalg
python.ops.linalg.linear_operator_addition : linear_operators.addition linalg
python.ops.linalg.linear_operator_util : python.linear_operator_parts python.private linalg tf
python.ops.linalg.linear_operator_test_util : python.linear_operator_tests
python.ops.ragged.{ragged_tensor ragged_tensor_value ragged_factory_ops ragged_ops} : ragged ops.ragged_tensor ops.ragged_map tf
python.ops.ragged.{ragged_array_ops ragged_functional_ops} : ragged math tf
python.ops.ragged.ragged_math_ops : ops.ragged_segments ragged math tf
python.ops.ragged.{ragged_concat_ops ragged_gather_ops ragged_batch_gather_ops} : ragged tf
python.ops.ragged.{ragged_where_op ragged_tile_op ragged_squeeze_op ragged_map_ops} : ragged tf
python.ops.ragged.ragged_tensor_shape : ops.ragged_broadcast
python.ops.ragged.ragged_test_util : python.ragged_test_util
python.ops.ragged.{ragged_conversion_ops} : ragged ops.ragged_tensor tf
python.ops.ragged.{ragged_getitem ragged_operators ragged_dispatch ragged_util} : ragged tf
python.ops.ragged.{segment_id_ops ragged_placeholder ragged_string_ops} : ragged tf strings
python.ops.{image_ops image_ops_impl} : image python.op_functions python.second_versions
python.ops.{io_ops parsing_ops} : io tf python.op_functions
python.ops.{data_flow_ops lookup_ops} : tf queue lookup ops.barrier ops.staging_area ops.map_staging_area ops.vocabulary_tables contrib.lookup python.private python.op_functions
python.ops.collective_ops : ops.collective
python.ops.nccl_ops : ops.nccl
python.ops.gradient_checker_v2 : python.gradient_checker_v2
python.ops.{gradients gradients_impl gradients_util custom_gradient} : tf
python.ops.{tensor_array_ops histogram_ops manip_ops sets sets_impl} : tf manip sets
python.ops.confusion_matrix : tf math python.metric_parts
python.ops.summary_ops : tf math summary python.op_functions
python.ops.summary_ops_v2 : contrib.summary summary.writers python.private
contrib.summary.summary : contrib.summary
python.ops.{metrics metrics_impl} : metrics python.metric_parts
python.ops.losses : losses
python.ops.losses.{losses losses_impl loss_reduction util} : losses
python.ops.{rnn rnn_cell rnn_cell_impl rnn_cell_wrapper_impl} : rnn.cells nn rnn.linear python.private
python.ops.seq2seq : contrib.legacy_seq2seq
python.ops.gradient_checker : autodiff.gradient_checker python.gradient_checker_parts
python.ops.distributions.kullback_leibler : distributions distributions.kullback_leibler
python.ops.distributions.{distribution distributions} : distributions
python.ops.distributions.util : python.distribution_parts python.distribution_checks contrib.distributions
python.ops.distributions.{normal bernoulli beta categorical dirichlet exponential} : contrib.distributions
python.ops.distributions.{gamma laplace multinomial student_t uniform} : contrib.distributions
python.ops.distributions.{dirichlet_multinomial transformed_distribution} : contrib.distributions
python.ops.distributions.{bijector bijector_impl identity_bijector} : contrib.distributions distributions.bijectors
python.ops.distributions.bijector_test_util : python.bijector_tests
python.ops.distributions.special_math : distributions.normal_functions contrib.distributions tf
python.training.training_util : train python.global_steps
python.training.{training optimizer adam adagrad adadelta ftrl momentum} : train
python.training.{rmsprop gradient_descent proximal_adagrad proximal_gradient_descent} : train
python.training.{adagrad_da sync_replicas_optimizer server_lib} : train
python.training.device_setter : train train.device_setter python.private
python.training.saver : train train.checkpoint_management python.saver_tests
python.training.{checkpoint_management checkpoint_utils checkpoint_state_pb2} : train train.checkpoint_management contrib.evaluation
python.training.monitored_session : train train.monitored_session python.session_layers
python.training.{session_manager supervisor session_run_hook} : train
python.training.{basic_session_run_hooks coordinator queue_runner queue_runner_impl} : train
python.training.{input learning_rate_decay basic_loops} : train
python.training.warm_starting_util : train python.warm_starting
python.training.evaluation : train contrib.evaluation
python.training.moving_averages : train.moving_averages
python.training.slot_creator : train.slot_creator
python.training.experimental.loss_scale : train.loss_scale train.experimental
python.training.experimental.loss_scale_optimizer : train.experimental
python.training.experimental.mixed_precision : train.mixed_precision python.mixed_precision_names
python.training.checkpoint_ops : contrib.framework
python.training.tracking.{util tracking} : train train.object_graph
python.training.tracking.{base data_structures} : python.tracked_structures contrib.tracked_containers
python.training.saving.saveable_object : train.saveables train
python.training.{training_ops gen_training_ops} : python.op_functions
python.training.{summary_io saving} : summary train
python.platform.{app} : app
python.platform.{flags} : flags
python.platform.logging : logging
python.platform.{test googletest} : test
python.platform.benchmark : benchmark
python.platform.sysconfig : tf
python.lib.io.file_io : python.file_io gfile
python.lib.io.{tf_record python_io} : python_io
python.client.session : tf python.session_names python.private
python.client.client_lib : tf
python.util.nest : nest graph.nest python.nested
python.autograph : autograph
python.autograph.impl.api : autograph.experimental autograph.api
python.autograph.{converters core pyct pyct.common_transformers} : autograph
python.autograph.converters.{break_statements continue_statements return_statements} : autograph
python.autograph.core.{converter naming} : autograph
python.autograph.utils : python.autograph_utils
python.autograph.utils.{context_managers misc py_func tensor_list tensors type_check} : python.autograph_utils
python.autograph.pyct.{anno compiler inspect_utils parser qual_names templates} : autograph
python.autograph.pyct.common_transformers.anf : autograph
python.autograph.pyct.transformer : python.autograph_parts
python.util.compat : compat
python.compat.compat : compat
python.layers : layers
python.layers.convolutional : layers layers.convolutional
python.layers.{core base normalization pooling layers} : layers layers.base python.layer_names
python.layers.utils : python.layer_sizes layers.base
python.saved_model : saved_model
python.saved_model.{builder builder_impl} : saved_model.builder saved_model
python.saved_model.{loader loader_impl simple_save} : train.saved_model_loader saved_model
python.saved_model.main_op : saved_model.main_op
python.saved_model.nested_structure_coder : saved_model.structures
python.saved_model.save : saved_model.object_saver
python.saved_model.load : saved_model.object_loader
python.saved_model.model_utils : python.mode_keys estimator
python.saved_model.model_utils.mode_keys : python.mode_keys
python.saved_model.model_utils.{export_output export_utils} : estimator.export_outputs estimator
python.saved_model.{constants} : saved_model.constants
python.saved_model.signature_constants : saved_model.signature_constants
python.saved_model.tag_constants : saved_model.tag_constants
python.saved_model.{signature_def_utils signature_def_utils_impl} : saved_model.signature_def_utils
python.saved_model.{utils utils_impl} : saved_model.tensor_infos saved_model
python.summary : summary
python.summary.{summary summary_iterator} : summary train
python.summary.plugin_asset : summary.plugin_asset
python.training.tensorboard_logging : python.tensorboard_logging
python.summary.writer.{writer writer_cache event_file_writer} : summary
python.estimator : estimator
python.estimator.{estimator estimator_lib run_config model_fn training export.export} : estimator estimator.cluster_task python.estimator_names
python.estimator.{exporter canned.parsing_utils} : estimator
python.estimator.export.{export_output export_lib} : estimator.export_outputs estimator
python.estimator.{canned.baseline canned.dnn_linear_combined canned.boosted_trees} : estimator
python.estimator.canned.{metric_keys prediction_keys} : estimator.canned estimator
python.estimator.canned.optimizers : python.heads estimator
python.estimator.{canned.dnn canned.linear} : python.heads estimator
python.estimator.canned.head : python.heads estimator
python.estimator.inputs.{numpy_io pandas_io inputs} : estimator.inputs
python.estimator.head.{base_head binary_class_head multi_class_head multi_head} : estimator
python.estimator.head.{multi_label_head regression_head} : estimator
python.estimator.{mode_keys early_stopping} : estimator estimator.experimental
python.estimator.hooks.{hooks basic_session_run_hooks session_run_hook} : estimator.experimental estimator.early_stopping estimator train
python.data : data
python.data.ops.{dataset_ops iterator_ops readers} : data python.dataset_names data.experimental data.iterators
python.data.ops.optional_ops : data.experimental data.structure
python.data.experimental.ops.{batching counter distribute enumerate_ops error_ops} : data.experimental
python.data.experimental.ops.cardinality : data.experimental python.dataset_names
python.data.experimental.ops.{get_single_element grouping interleave_ops iterator_ops} : data.experimental
python.data.experimental.ops.{optimization optimization_options parsing_ops prefetching_ops} : data.experimental
python.data.experimental.ops.{random_ops readers resampling scan_ops shuffle_ops take_while_ops} : data.experimental
python.data.experimental.ops.{threading_options distribute_options unique writers} : data.experimental
python.data.util.structure : python.dataset_structures data.experimental
python.data.util.nest : python.data_nest
python.data.util.sparse : python.sparse_structures
python.data.kernel_tests.test_base : python.dataset_tests
python.feature_column.{feature_column feature_column_v2 feature_column_lib} : feature_column python.feature_columns
python.feature_column.{sequence_feature_column dense_features utils} : feature_column python.feature_columns
python.feature_column.serialization : feature_column.serialization
python.util.{deprecation decorator_utils tf_export tf_contextlib} : python.util.decorators
python.eager.test : python.eager_tests test
python.eager.backprop : functions.traced python.gradient_functions tf
python.eager.function : contrib.eager functions.traced
python.eager.def_function : functions.traced contrib.eager
python.eager.wrap_function : functions.wrapped
python.ops.{map_fn sort_ops bincount_ops} : tf random
python.ops.stateless_random_ops : contrib.stateless tf random
python.ops.inplace_ops : python.inplace ops.array tf
python.ops.weights_broadcast_ops : ops.weights tf
python.ops.summary_op_util : python.private ops.summary
python.distribute.{distribute_lib distribution_strategy_context mirrored_strategy one_device_strategy} : distribute python.strategy_names
python.distribute.{central_storage_strategy parameter_server_strategy collective_all_reduce_strategy} : distribute.experimental distribute
python.distribute.{reduce_util cross_device_ops} : distribute distribute.reduction
python.distribute.tpu_strategy : python.strategy_names distribute.strategies
python.distribute.{combinations strategy_combinations} : python.strategy_combinations
python.distribute.distribute_coordinator : distribute cluster
python.distribute.cluster_resolver : distribute.cluster_resolver
python.distribute.cluster_resolver.{cluster_resolver tfconfig_cluster_resolver} : distribute.cluster_resolver
python.distribute.values : distribute.values
python.distribute.summary_op_util : python.private ops.summary
python.estimator.util : estimator.input_results python.util.function_utils
python.ops.signal.{dct_ops fft_ops mel_ops mfcc_ops} : signal
python.ops.signal.util_ops : python.other_names
python.ops.spectral_ops_test_util : python.random_number_tests
python.kernel_tests.random.util : python.random_number_tests
python.kernel_tests.signal.test_util : python.random_number_tests
python.ops.signal.{signal spectral_ops shape_ops window_ops reconstruction_ops} : signal
keras.mixed_precision.experimental.loss_scale_optimizer : keras.loss_scale_optimizer
keras.mixed_precision.experimental.policy : keras.precision_policies
keras.mixed_precision.experimental.autocast_variable : keras.autocast_variables
keras.utils.data_utils : keras.utils keras.utils.data_files keras.utils.enqueuers
keras.utils.tf_utils : python.keras_tensors
keras.utils.metrics_utils : keras.confusion_metrics
keras.utils.losses_utils : losses keras.losses
keras.utils.layer_utils : keras.utils.kernel_conversion keras.utils python.keras_package
keras.utils.generic_utils : keras.utils python.keras_helpers
contrib.layers.python.layers.{layers regularizers optimizers encoders rev_block_lib} : contrib.layers
contrib.solvers.python.ops.{lanczos least_squares linear_equations util} : contrib.solvers
contrib.model_pruning.python.{pruning learning} : contrib.model_pruning contrib.masked_layers
contrib.model_pruning.python.layers.{core_layers layers rnn_cells} : contrib.masked_layers
contrib.bayesflow.python.ops.{monte_carlo monte_carlo_impl} : contrib.bayesflow
contrib.copy_graph.python.util.copy_elements : contrib.copy_graph
contrib.optimizer_v2.{adadelta adagrad adam gradient_descent momentum rmsprop} : contrib.optimizer_v2
contrib.layers.python.layers.utils : contrib.layers.building
contrib.layers.python.{layers.sparse_ops ops.sparse_ops} : contrib.layers.sparse_conversions contrib.layers
contrib.layers.python.ops.bucketization_op : contrib.layers
contrib.layers.python.layers.{embedding_ops summaries normalization} : contrib.layers nn contrib.scattered_embeddings
contrib.layers.python.layers.{initializers} : contrib.layers initializers
contrib.layers.python.layers.{feature_column feature_column_ops} : contrib.layers python.contrib_columns
contrib.layers.python.layers.target_column : contrib.target_columns contrib.learn.keys
contrib.layers.python.ops.sparse_feature_cross_op : ops.sparse_cross
contrib.rnn.python.ops.{core_rnn core_rnn_cell core_rnn_cell_impl} : contrib.rnn rnn.cells rnn.linear
contrib.rnn.python.ops.{rnn rnn_cell gru_ops fused_rnn_cell} : contrib.rnn rnn.cells rnn.linear
contrib.rnn.python.ops.lstm_ops : contrib.rnn rnn.cells rnn.linear python.lstm_blocks
contrib.framework.python.framework.{checkpoint_utils tensor_util} : contrib.framework
contrib.framework.python.ops.{variables arg_scope checkpoint_ops ops prettyprint_ops} : contrib.framework
contrib.framework.python.ops.audio_ops : ops.audio
contrib.framework.python.ops : contrib.framework
contrib.seq2seq.python.ops.{attention_wrapper basic_decoder beam_search_decoder} : contrib.seq2seq
contrib.seq2seq.python.ops.{beam_search_ops decoder helper loss} : contrib.seq2seq python.private
contrib.legacy_seq2seq.python.ops.seq2seq : contrib.legacy_seq2seq
contrib.learn.{python python.learn} : contrib.learn
contrib.layers.python.layers : contrib.layers
contrib.losses.python.losses : contrib.losses
contrib.cudnn_rnn.python.layers : contrib.cudnn_rnn
contrib.framework.python.framework : contrib.framework
contrib.slim.{python python.slim} : contrib.slim
contrib.testing.python.framework.{fake_summary_writer util} : contrib.testing
contrib.learn.python.learn.{estimators metric_spec experiment} : contrib.learn
contrib.learn.python.learn.{learn_runner monitors} : contrib.learn
contrib.learn.python.learn.preprocessing : contrib.learn.preprocessing contrib.learn
contrib.learn.python.learn.learn_runner : contrib.learn.learn_runner
contrib.learn.python.learn.preprocessing.{text categorical categorical_vocabulary} : contrib.learn.preprocessing
contrib.learn.python.learn.{monitors models} : contrib.learn.monitors contrib.learn.models
contrib.learn.python.learn.estimators.{dnn linear} : contrib.learn python.learn_names
contrib.learn.python.learn.estimators.{estimator prediction_key} : contrib.learn
contrib.learn.python.learn.estimators.run_config : contrib.learn.run_config contrib.learn
contrib.learn.python.learn.run_config : contrib.learn.run_config contrib.learn
contrib.learn.python.learn.{evaluable trainable} : contrib.learn.roles
contrib.learn.python.learn.estimators.model_fn : contrib.learn.model_fn contrib.learn
contrib.learn.python.learn.estimators.{constants metric_key} : contrib.learn.keys
contrib.learn.python.learn.estimators.{estimator_test_utils test_data} : python.learn_tests
contrib.learn.python.learn.estimators.head : contrib.learn.heads
contrib.learn.python.learn.estimators._sklearn : contrib.learn.scores
contrib.learn.python.learn.datasets : contrib.learn.datasets
contrib.learn.python.learn.datasets.base : contrib.learn.datasets.base
contrib.learn.python.learn.datasets.mnist : examples.tutorials.mnist.input_data
contrib.predictor.predictor : contrib.predictor
contrib.slim.python.slim.learning : contrib.slim.learning
contrib.slim.python.slim.evaluation : contrib.slim.evaluation
contrib.slim.python.slim.model_analyzer : contrib.slim.model_analyzer
contrib.slim.python.slim.queues : contrib.slim.queues
contrib.slim.python.slim.summaries : contrib.slim.summaries
contrib.slim.python.slim.data.tfexample_decoder : contrib.slim.tfexample_decoder
contrib.slim.python.slim.data.{dataset data_decoder} : contrib.slim.dataset contrib.slim.data_decoder
contrib.slim.python.slim.data.data_provider : contrib.slim.data_provider
contrib.slim.python.slim.data.dataset_data_provider : contrib.slim.dataset_data_provider
contrib.slim.python.slim.data.parallel_reader : contrib.slim.parallel_reader
contrib.slim.python.slim.data.prefetch_queue : contrib.slim.prefetch_queue
contrib.factorization.python.ops.{clustering_ops kmeans factorization_ops} : contrib.factorization
contrib.factorization.python.ops.{gmm gmm_ops} : contrib.learn.gaussian_mixtures
contrib.training.python.training.{training hparam evaluation bucket_ops} : contrib.training
contrib.training.python.training.{resample sampling_ops sgdr_learning_rate_decay} : contrib.sampling contrib.training
contrib.training.python.training.device_setter : contrib.training
contrib.training.python.training.sequence_queueing_state_saver : contrib.training python.contrib_columns
contrib.metrics.python.ops.metric_ops : contrib.metrics contrib.metric_statistics python.metric_parts
contrib.metrics.python.ops.{histogram_ops confusion_matrix_ops set_ops} : contrib.metrics
contrib.metrics.python.metrics.classification : contrib.metrics
contrib.integrate.python.ops.odes : contrib.integrate
contrib.constrained_optimization.python.candidates : contrib.constrained_candidates
contrib.constrained_optimization.python.{constrained_minimization_problem constrained_optimizer} : contrib.constrained_optimization
contrib.constrained_optimization.python.{external_regret_optimizer swap_regret_optimizer} : contrib.constrained_optimization
contrib.losses.python.losses.loss_ops : contrib.losses losses
contrib.losses.python.metric_learning.metric_loss_ops : contrib.losses.metric_learning
contrib.lookup.lookup_ops : contrib.lookup
contrib.data.python.ops.{batching grouping interleave_ops shuffle_ops} : contrib.data data
contrib.data.python.ops.{counter enumerate_ops error_ops get_single_element prefetching_ops} : contrib.data data
contrib.data.python.ops.{resampling scan_ops sliding unique writers} : contrib.data data
contrib.data.python.ops.{dataset_ops iterator_ops readers} : contrib.data data
contrib.tensor_forest.python.tensor_forest : contrib.tensor_forest
contrib.crf.python.ops.crf : contrib.crf
contrib.image.python.ops.{image_ops dense_image_warp interpolate_spline sparse_image_warp} : contrib.image
contrib.image.python.ops.distort_image_ops : contrib.image
contrib.gan.python.train : contrib.gan.train contrib.gan.models contrib.gan.loss_sums
contrib.gan.python.namedtuples : contrib.gan.namedtuples
contrib.gan.python.losses.python.{losses_wargs losses_impl} : contrib.gan.losses.wargs
contrib.gan.python.losses.python.{tuple_losses tuple_losses_impl} : contrib.gan.losses
contrib.gan.python.features.python.{clip_weights conditioning_utils random_tensor_pool} : contrib.gan.features
contrib.gan.python.features.python.{spectral_normalization virtual_batchnorm} : contrib.gan.features
contrib.gan.python.eval.python.{classifier_metrics eval_utils summaries} : contrib.gan.eval
contrib.gan.python.estimator.python.{gan_estimator stargan_estimator} : contrib.gan.estimator
contrib.gan.python.losses : contrib.gan.losses
contrib.gan.python.features : contrib.gan.features
contrib.gan.python.eval : contrib.gan.eval
contrib.gan.python.estimator : contrib.gan.estimator
contrib.opt.python.training.{elastic_average_optimizer model_average_optimizer agn_optimizer} : contrib.opt
contrib.opt.python.training.{ggt drop_stale_gradient_optimizer} : contrib.opt
contrib.opt.python.training.{external_optimizer lazy_adam_optimizer variable_clipping_optimizer} : contrib.opt
contrib.opt.python.training.{moving_average_optimizer nadam_optimizer} : contrib.opt
contrib.opt.python.training.{adamax addsign lars_optimizer powersign} : contrib.opt
contrib.opt.python.training.sign_decay : contrib.opt.sign_decay
contrib.opt.python.training.weight_decay_optimizers : contrib.opt
contrib.graph_editor.util : contrib.graph_editor.elements
contrib.cudnn_rnn.python.ops.cudnn_rnn_ops : contrib.cudnn_rnn
contrib.cudnn_rnn.python.layers.cudnn_rnn : contrib.cudnn_rnn
contrib.distributions.python.ops.{distribution normal categorical bernoulli} : contrib.distributions
contrib.distributions.python.ops.{autoregressive batch_reshape binomial cauchy chi2} : contrib.distributions
contrib.distributions.python.ops.{conditional_distribution deterministic geometric} : contrib.distributions
contrib.distributions.python.ops.{conditional_transformed_distribution gumbel} : contrib.distributions
contrib.distributions.python.ops.{half_normal independent kumaraswamy sinh_arcsinh} : contrib.distributions
contrib.distributions.python.ops.{inverse_gamma logistic mixture mixture_same_family} : contrib.distributions
contrib.distributions.python.ops.{moving_stats normal_conjugate_posteriors} : contrib.distributions
contrib.distributions.python.ops.{mvn_diag mvn_tril mvn_full_covariance negative_binomial} : contrib.distributions
contrib.distributions.python.ops.{mvn_diag_plus_low_rank mvn_linear_operator} : contrib.distributions
contrib.distributions.python.ops.{onehot_categorical poisson quantized_distribution} : contrib.distributions
contrib.distributions.python.ops.{relaxed_bernoulli relaxed_onehot_categorical wishart} : contrib.distributions
contrib.distributions.python.ops.{sample_stats seed_stream vector_exponential_diag} : contrib.distributions
contrib.distributions.python.ops.{vector_laplace_diag vector_exponential_linear_operator} : contrib.distributions
contrib.distributions.python.ops.vector_laplace_linear_operator : contrib.distributions
contrib.distributions.python.ops.distribution_util : distributions.operator_scales contrib.distributions python.distribution_parts
contrib.distributions.python.ops.bijectors : distributions.bijectors
contrib.distributions.python.ops.bijectors.{absolute_value affine affine_scalar} : distributions.bijectors
contrib.distributions.python.ops.bijectors.{affine_linear_operator batch_normalization} : distributions.bijectors
contrib.distributions.python.ops.bijectors.{chain cholesky_outer_product exp identity} : distributions.bijectors
contrib.distributions.python.ops.bijectors.{conditional_bijector fill_triangular} : distributions.bijectors
contrib.distributions.python.ops.bijectors.{gumbel inline invert kumaraswamy ordered} : distributions.bijectors
contrib.distributions.python.ops.bijectors.{matrix_inverse_tril permute power_transform} : distributions.bijectors
contrib.distributions.python.ops.bijectors.{real_nvp reshape scale_tril sigmoid softplus} : distributions.bijectors
contrib.distributions.python.ops.bijectors.{sinh_arcsinh softmax_centered softsign} : distributions.bijectors
contrib.distributions.python.ops.bijectors.{square transform_diagonal weibull} : distributions.bijectors
contrib.distributions.python.ops.bijectors.masked_autoregressive : distributions.bijectors python.distribution_parts
contrib.estimator.python.estimator.{extenders head multi_head dnn linear early_stopping hooks} : contrib.estimator estimator.extenders python.heads
contrib.estimator.python.estimator.rnn : contrib.estimator estimator.recurrent
contrib.staging.python.ops.data_flow_ops : contrib.staging
contrib.eager.python.tfe : contrib.eager
contrib.signal : signal
python.tpu.{tpu_config tpu_estimator tpu_context} : contrib.tpu
python.tpu.{tpu_optimizer bfloat16 tpu} : tpu
python.tpu.ops.tpu_ops : tpu
python.tpu.tpu_function : python.tpu_function
python.tpu.topology : python.tpu_topology
contrib.tpu.python.tpu.{tpu_config tpu_estimator tpu_context} : contrib.tpu
contrib.tpu.python.tpu.{tpu_optimizer bfloat16 tpu} : tpu
contrib.tpu.python.tpu.tpu_function : python.tpu_function
contrib.tpu.python.tpu.topology : python.tpu_topology
contrib.tpu.python.ops.tpu_ops : tpu
"""


#: Whole trees that stand elsewhere: ``python.keras.layers.x`` is ``keras.layers.x``.
TREES = {
    "python.keras": "keras",
    "python.keras.api.keras": "keras",
    "contrib.keras.python.keras": "keras",
    "contrib.keras.api.keras": "keras",
    "contrib.slim.python.slim.nets": "contrib.slim.nets",
    # One module: who replaces `tf_logging.info` hears what the engine says.
    "python.platform.tf_logging": "logging",
}


_OF_ENGINE = "keras.layers keras.models keras.utils python.keras_package"
#: Modules of the standalone Keras that are others here: ``keras.layers.convolutional``.
KERAS = {
    **{
        f"keras.layers.{name}": "keras.layers"
        for name in ("advanced_activations", "cudnn_recurrent")
    },
    **{
        f"keras.layers.{name}": "keras.layers"
        for name in ("convolutional_recurrent", "serialization")
    },
    "keras.engine": _OF_ENGINE,
    **{f"keras.engine.{n}": _OF_ENGINE for n in ("training", "sequential", "network", "topology")},
    **{f"keras.engine.{n}": _OF_ENGINE for n in ("base_layer", "input_spec", "base_layer_utils")},
    **{f"keras.utils.{n}": "keras.utils" for n in ("np_utils", "vis_utils")},
    "keras.utils.io_utils": "keras.utils python.keras_h5dict",
    **{f"keras.{n}": "python.keras_interfaces" for n in ("legacy", "legacy.interfaces")},
    "keras.backend.common": "python.keras_package keras.backend",
    "keras.utils.visualize_util": "keras.utils",
    **{f"keras.{n}.training_utils": "python.keras_training_utils" for n in ("engine", "utils")},
    "keras.engine.training_generator": "python.keras_training_utils keras.utils",
    "keras.legacy.layers": "python.keras_legacy_layers",
    "keras.utils.multi_gpu_utils": "keras.utils.multi_gpu",
    "keras.utils.test_utils": "python.keras_test_utils",
    **{
        f"keras.{n}": "python.keras_distribution"
        for n in ("distribute", "distribute.distributed_training_utils")
    },
    "keras.utils.conv_utils": "python.layer_sizes keras.convolution_masks python.keras_package keras.utils.kernel_conversion",
    "keras.backend.tensorflow_backend": "keras.backend python.keras_package",
    "keras.callbacks.callbacks": "keras.callbacks",
    "keras.engine.input_layer": "keras.layers",
    "keras.saving": "keras.saving keras.models",
    "keras.engine.saving": "keras.saving python.keras_package",
    "keras.objectives": "keras.losses",
    "keras.initializations": "keras.initializers",
}

_OPS = ("array_ops", "control_flow_ops", "ctc_ops", "image_ops", "linalg_ops", "math_ops", "nn")
_OPTIMIZERS = ("adadelta", "adagrad", "adam", "adamax", "gradient_descent", "nadam", "rmsprop")
#: Modules that TensorFlow's Keras imports, and programs reach by it: ``K.math_ops``.
MODULES_WITHIN = {
    "dataflow.keras.backend": {
        **{name: f"ops.{name}" for name in (*_OPS, "random_ops", "sparse_ops", "state_ops")},
        "constant_op": "framework.constant_op",
        "context": "eager.context",
        "dtypes_module": "framework.dtypes",
        "ops": "framework.ops",
        "session_module": "client.session",
        "sparse_tensor": "framework.sparse_tensor",
        "tensor_array_ops": "ops.tensor_array_ops",
        "tensor_shape": "framework.tensor_shape",
        "tensor_util": "framework.tensor_util",
        "variables_module": "ops.variables",
    },
    "dataflow.keras.optimizers": {f"{n}_v2": f"keras.optimizer_v2.{n}" for n in _OPTIMIZERS},
}
