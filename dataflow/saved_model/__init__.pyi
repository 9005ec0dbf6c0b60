from dataflow.saved_model import (
    builder as builder,
    constants as constants,
    loader as loader,
    main_op as main_op,
    signature_constants as signature_constants,
    signature_def_utils as signature_def_utils,
    tag_constants as tag_constants,
    tensor_infos as utils,
)
from dataflow.train.saved_models import (
    build_signature_def as build_signature_def,
    build_tensor_info as build_tensor_info,
    SavedModelBuilder as Builder,
    classification_signature_def as classification_signature_def,
    maybe_saved_model_directory as contains_saved_model,
    get_tensor_from_tensor_info as get_tensor_from_tensor_info,
    load as load,
    maybe_saved_model_directory as maybe_saved_model_directory,
    predict_signature_def as predict_signature_def,
    regression_signature_def as regression_signature_def,
    simple_save as simple_save,
)
