"""What a user of the library runs: their files, forecasts, probes in PyTorch, and the command line.

``files`` opens and prepares matrices, ``forecast`` answers :func:`edgelaw.predict` and :func:`edgelaw.probe`,
``training`` has the orders for PyTorch, ``cli`` is the command ``edgelaw``. Nothing is loaded before it is asked for.
"""
