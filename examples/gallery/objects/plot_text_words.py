"""
Which words decide: a linear model of words, explained
======================================================

`BagOfWords` is the kernel of word counts. The explanation of a prediction is a text with coloured words.
"""

import matplotlib.pyplot as plt

from separatrix import SVC, explain_object
from separatrix.kernels import BagOfWords, Normalized
from separatrix.plots import plot_parts

messages = {
    "spam": [
        "win a free prize now call this number",
        "free entry in our weekly draw text win now",
        "urgent your account has won a cash prize",
        "claim your free phone call now",
        "cash prize waiting text claim today",
        "you have won free tickets call today",
    ],
    "ham": [
        "are we still meeting for lunch today",
        "call me when you are home",
        "the meeting is moved to monday",
        "thanks for the tickets see you at the station",
        "can you send me the number of the doctor",
        "lunch was good we should do this again",
    ],
}
X = [text.split() for texts in messages.values() for text in texts]
y = [label for label, texts in messages.items() for _ in texts]
model = SVC(C=10, kernel=Normalized(BagOfWords())).fit(X, y)
message = "call now to claim the free lunch at the station".split()
found = explain_object(model, message)
print(f"predicted: {found.label}")
for feature in found.features[:5]:
    print(f"  {feature.name}")
figure = plot_parts(found)
plt.show()
