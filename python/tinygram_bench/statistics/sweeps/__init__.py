"""What a sweep shows: knees, crossovers and limits, and where its next points are (decision 0032).

Laws: values in, values out; what is said of a curve comes with an interval over its rounds.
"""
