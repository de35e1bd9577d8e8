"""The data sets of the papers, and of simulated people: what only measurements read."""

from experiments.sets.archive import MissingData, OtherVersion, Source, data_folder, is_known
from experiments.sets.cifar10 import load_cifar10
from experiments.sets.corel5k import Corel5k, load_corel5k
from experiments.sets.flickr8k import CaptionScores, Flickr8k, load_flickr8k
from experiments.sets.folder import load_folder
from experiments.sets.labelled import LabelledPictures
from experiments.sets.mnist import Mnist, load_mnist
from experiments.sets.pictures import Pictures
from experiments.sets.simulated import (
    SimulatedClicks,
    SimulatedLabels,
    relevance,
    simulate_clicks,
    simulate_labels,
)
from experiments.sets.tmbud import Tmbud, load_tmbud

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
]
