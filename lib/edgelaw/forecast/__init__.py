"""From a design to learning curves and advice; readers know this room as :mod:`edgelaw.predict`."""

from edgelaw.forecast.prediction import Advice, Caution, Diagnostic, Forecast, Prediction, predict

__all__ = ["Advice", "Caution", "Diagnostic", "Forecast", "Prediction", "predict"]
