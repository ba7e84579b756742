"""Is the code of a scene the sum of what it knows of its objects?"""
