"""``tf.saved_model``: models as folders, with signatures."""

from __future__ import annotations

from dataflow.saved_model import (
    builder,
    constants,
    loader,
    main_op,
    signature_constants,
    signature_def_utils,
    tag_constants,
)
from dataflow.saved_model import tensor_infos as utils
from dataflow.train.saved_models import (
    SavedModelBuilder as Builder,
    build_signature_def,
    build_tensor_info,
    classification_signature_def,
    get_tensor_from_tensor_info,
    load,
    maybe_saved_model_directory as contains_saved_model,
    maybe_saved_model_directory,
    predict_signature_def,
    regression_signature_def,
    simple_save,
)
