"""The public name of ``edgelaw.forecast``: from a design to learning curves and advice."""

from edgelaw.forecast import Advice, Caution, Diagnostic, Forecast, Prediction, diagnose, predict

__all__ = ["Advice", "Caution", "Diagnostic", "Forecast", "Prediction", "diagnose", "predict"]
