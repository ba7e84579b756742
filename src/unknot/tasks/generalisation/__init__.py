"""Are factors still predicted where training never was?"""
