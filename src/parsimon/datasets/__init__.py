"""Small tables to try things on, larger ones by name, and generators with known truth.

`load` gives scikit-learn's Bunch for a name, `names` says which names can be loaded, `load_sounds`
reads a folder of WAV files, and the ``make_*`` functions draw samples whose truth is known.
Licences and sources of the bundled tables are in ``SOURCES.md`` beside this file.
"""

from parsimon.datasets.catalogue import names
from parsimon.datasets.loading import load
from parsimon.datasets.mixtures import (
    make_banana,
    make_clutter,
    make_crescent,
    make_four_clusters,
    make_ripley,
    make_three_clusters,
)
from parsimon.datasets.shapes import (
    make_checkerboard,
    make_global_and_local,
    make_spiral,
    make_waveform,
)
from parsimon.datasets.simulations import make_alerts, make_variants, sound_alerts
from parsimon.datasets.sounds import load_sounds, read_wav, write_wav

__all__ = [
    "load",
    "load_sounds",
    "make_alerts",
    "make_banana",
    "make_checkerboard",
    "make_clutter",
    "make_crescent",
    "make_four_clusters",
    "make_global_and_local",
    "make_ripley",
    "make_spiral",
    "make_three_clusters",
    "make_variants",
    "make_waveform",
    "names",
    "read_wav",
    "sound_alerts",
    "write_wav",
]
