"""What a corpus says that another said before: n-grams, passages and nearest notes, in flat memory.

Texts become files of 64-bit numbers, one a token, and everything else is read from these in parts:
a million notes take some bytes each and no more. Among a hundred million n-grams of either corpus
two have the same number by chance in one of 1,800 comparisons.
"""
