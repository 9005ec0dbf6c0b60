"""``tf.contrib.gan.eval``: scores of generated images by a classifier, and summaries of models."""

from dataflow.contrib.gan.eval.classifier_metrics import (
    classifier_score,
    classifier_score_from_logits,
    diagonal_only_frechet_classifier_distance_from_activations,
    frechet_classifier_distance,
    frechet_classifier_distance_from_activations,
    kernel_classifier_distance,
    kernel_classifier_distance_and_std,
    kernel_classifier_distance_and_std_from_activations,
    kernel_classifier_distance_from_activations,
    mean_only_frechet_classifier_distance_from_activations,
)
from dataflow.contrib.gan.eval.classifiers import (
    INCEPTION_DEFAULT_IMAGE_SIZE,
    INCEPTION_FINAL_POOL,
    INCEPTION_OUTPUT,
    frechet_inception_distance,
    get_graph_def_from_disk,
    get_graph_def_from_resource,
    get_graph_def_from_url_tarball,
    inception_score,
    kernel_inception_distance,
    kernel_inception_distance_and_std,
    preprocess_image,
    run_image_classifier,
    run_inception,
)
from dataflow.contrib.gan.eval.grids import image_grid, image_reshaper
from dataflow.contrib.gan.eval.summaries import (
    add_cyclegan_image_summaries,
    add_gan_model_image_summaries,
    add_gan_model_summaries,
    add_image_comparison_summaries,
    add_regularization_loss_summaries,
    add_stargan_image_summaries,
)
from dataflow.namespaces import explain_absent

__all__ = [
    "INCEPTION_DEFAULT_IMAGE_SIZE",
    "INCEPTION_FINAL_POOL",
    "INCEPTION_OUTPUT",
    "add_cyclegan_image_summaries",
    "add_gan_model_image_summaries",
    "add_gan_model_summaries",
    "add_image_comparison_summaries",
    "add_regularization_loss_summaries",
    "add_stargan_image_summaries",
    "classifier_score",
    "classifier_score_from_logits",
    "diagonal_only_frechet_classifier_distance_from_activations",
    "frechet_classifier_distance",
    "frechet_classifier_distance_from_activations",
    "frechet_inception_distance",
    "get_graph_def_from_disk",
    "get_graph_def_from_resource",
    "get_graph_def_from_url_tarball",
    "image_grid",
    "image_reshaper",
    "inception_score",
    "kernel_classifier_distance",
    "kernel_classifier_distance_and_std",
    "kernel_classifier_distance_and_std_from_activations",
    "kernel_classifier_distance_from_activations",
    "kernel_inception_distance",
    "kernel_inception_distance_and_std",
    "mean_only_frechet_classifier_distance_from_activations",
    "preprocess_image",
    "run_image_classifier",
    "run_inception",
]

__getattr__ = explain_absent(__name__)
