"""Accuracy of a private logistic regression on the study."""

from sgm.datasets.split import split
from sgm.datasets.study import study
from sgm.experiments.presets import STEPS, study_settings
from sgm.models.logistic import Logistic
from sgm.trainer.loop import fit
from sgm.trainer.metrics import accuracy


def utility(noise, clip, seed):
    """Loss on the training part, and accuracy on the rest."""
    (features, labels), (others, truth) = split(*study())
    settings, model = study_settings(len(labels), noise, clip), Logistic()
    parameters, _ = fit(model, features, labels, settings, STEPS, seed)
    return {
        "loss": model.loss(parameters, features, labels),
        "accuracy": accuracy(model, parameters, others, truth),
    }


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
