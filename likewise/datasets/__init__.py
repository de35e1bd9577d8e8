"""Data sets of the experiments, and swatches: generated pictures with known truth."""

from likewise.datasets.archive import MissingData, OtherVersion, Source, data_folder, is_known
from likewise.datasets.cifar10 import load_cifar10
from likewise.datasets.corel5k import Corel5k, load_corel5k
from likewise.datasets.flickr8k import CaptionScores, Flickr8k, load_flickr8k
from likewise.datasets.folder import load_folder
from likewise.datasets.labelled import LabelledPictures
from likewise.datasets.mnist import Mnist, load_mnist
from likewise.datasets.pictures import Pictures
from likewise.datasets.simulated import (
    SimulatedClicks,
    SimulatedLabels,
    relevance,
    simulate_clicks,
    simulate_labels,
)
from likewise.datasets.swatches import SwatchSet, swatches
from likewise.datasets.tmbud import Tmbud, load_tmbud

__all__ = [
    "CaptionScores",
    "Corel5k",
    "Flickr8k",
    "LabelledPictures",
    "MissingData",
    "Mnist",
    "OtherVersion",
    "Pictures",
    "SimulatedClicks",
    "SimulatedLabels",
    "Source",
    "SwatchSet",
    "Tmbud",
    "data_folder",
    "is_known",
    "load_cifar10",
    "load_corel5k",
    "load_flickr8k",
    "load_folder",
    "load_mnist",
    "load_tmbud",
    "relevance",
    "simulate_clicks",
    "simulate_labels",
    "swatches",
]
