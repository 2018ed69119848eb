"""The parts of :class:`~pairmend.MendedClassifier`: opinions, label sets, decisions."""
