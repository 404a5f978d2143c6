"""From rows, with labels or without, to the learning rate, the order and the epochs to train with.

`predict` is also ``edgelaw.predict``, `probe` ``edgelaw.probe``.
"""

from edgelaw_app.forecast.prediction import predict
from edgelaw_app.forecast.probing import probe
from edgelaw_app.forecast.request import Preparation, Training
from edgelaw_app.forecast.results import Advice, Caution, Check, Forecast, Labels, OrderForecast

__all__ = [
    "Advice",
    "Caution",
    "Check",
    "Forecast",
    "Labels",
    "OrderForecast",
    "Preparation",
    "Training",
    "predict",
    "probe",
]
