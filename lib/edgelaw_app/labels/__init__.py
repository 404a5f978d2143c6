"""Features and labels: the learning rate, order and epochs of a linear probe, and the losses to expect of it."""

from edgelaw_app.labels.closed_form import ClosedForm
from edgelaw_app.labels.forecasting import forecast
from edgelaw_app.labels.results import Accuracy, Caution, Costs, OrderForecast, ProbeForecast

__all__ = ["Accuracy", "Caution", "ClosedForm", "Costs", "OrderForecast", "ProbeForecast", "forecast"]
