"""The last stage of an object detector: from raw boxes and scores to the detections that are shown."""
