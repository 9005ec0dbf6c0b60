"""``tf.contrib.gan`` (TFGAN): models of two networks that train against each other, their losses and steps.

A program makes a model (`gan_model` and its kin), losses of it (`gan_loss`), operations that train the two
networks (`gan_train_ops`), and runs them (`gan_train`). I. Goodfellow et al., "Generative Adversarial
Nets", 2014.
"""

from dataflow.contrib.gan import estimator, eval, features, losses, namedtuples
from dataflow.contrib.gan.loss_sums import cyclegan_loss, gan_loss, stargan_loss
from dataflow.contrib.gan.models import (
    acgan_model,
    cyclegan_model,
    gan_model,
    infogan_model,
    stargan_model,
)
from dataflow.contrib.gan.namedtuples import (
    ACGANModel,
    CycleGANLoss,
    CycleGANModel,
    GANLoss,
    GANModel,
    GANTrainOps,
    GANTrainSteps,
    InfoGANModel,
    StarGANModel,
)
from dataflow.contrib.gan.train import (
    RunTrainOpsHook,
    gan_train,
    gan_train_ops,
    get_joint_train_hooks,
    get_sequential_train_hooks,
    get_sequential_train_steps,
)
from dataflow.namespaces import explain_absent

__all__ = [
    "ACGANModel",
    "CycleGANLoss",
    "CycleGANModel",
    "GANLoss",
    "GANModel",
    "GANTrainOps",
    "GANTrainSteps",
    "InfoGANModel",
    "RunTrainOpsHook",
    "StarGANModel",
    "acgan_model",
    "cyclegan_loss",
    "cyclegan_model",
    "estimator",
    "eval",
    "features",
    "gan_loss",
    "gan_model",
    "gan_train",
    "gan_train_ops",
    "get_joint_train_hooks",
    "get_sequential_train_hooks",
    "get_sequential_train_steps",
    "infogan_model",
    "losses",
    "namedtuples",
    "stargan_loss",
    "stargan_model",
]

__getattr__ = explain_absent(__name__)
