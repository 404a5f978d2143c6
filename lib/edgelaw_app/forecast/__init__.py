"""From a design to learning curves and advice; its function is also ``edgelaw.predict``."""

from edgelaw_app.forecast.diagnostic import diagnose
from edgelaw_app.forecast.prediction import predict
from edgelaw_app.forecast.results import Advice, Caution, Diagnostic, Forecast, Prediction

__all__ = ["Advice", "Caution", "Diagnostic", "Forecast", "Prediction", "diagnose", "predict"]
