"""Do predictions move when a factor that should not matter is changed?"""
