"""Write the table of the tutorial: support tickets, generated from a grammar of sentences.

The labels that a sentence stands for are known; 3 % of them are changed.

    python examples/tickets.py --out docs/tickets.csv
"""

import argparse
import csv
from datetime import date, timedelta

import numpy as np

TOPICS = {
    "billing": [
        "the {invoice} for {month} shows {amount} instead of {amount}",
        "we were charged twice in {month}",
        "please send the {invoice} for {month} to our new address",
        "my credit card was declined although it is valid until {month}",
        "can we change from monthly to yearly payment",
    ],
    "login": [
        "I cannot sign in since {day}",
        "the {page} page asks for my password again and again",
        "a colleague does not receive the code to sign in",
        "our single sign-on has not worked since {day}",
        "the link to reset my password has expired",
    ],
    "crash": [
        "the {page} page shows error {code} when I press save",
        "the application closes when I open the {page} page",
        "since {day} the {page} page stays empty",
        "I get error {code} and have to start again",
    ],
    "slow": [
        "the {page} page takes more than {count} seconds to open",
        "everything has been slow since {day}",
        "the {format} export of {count} thousand rows never ends",
        "search needs {count} seconds for one word",
    ],
    "wish": [
        "could you add an export to {format}",
        "it would help us to have a dark {page} page",
        "is there a plan to support {format} files",
        "we would like to sort the {page} page by date",
    ],
}
OTHER = [
    "hello",
    "thank you for your help last week",
    "we are {count} people in the office",
    "this is urgent for us",
    "I have read the manual",
    "my {invoice} is fine",
    "please answer before {month}",
    "the export to {format} works well",
]
SLOTS = {
    "invoice": ["invoice", "bill", "receipt"],
    "month": ["January", "March", "May", "July", "October"],
    "day": ["Monday", "Tuesday", "Friday", "this morning", "the last update"],
    "page": ["project", "report", "calendar", "settings", "team"],
    "format": ["PDF", "Excel", "CSV", "Word"],
    "amount": ["120 euros", "89 euros", "240 euros", "300 euros"],
    "code": ["500", "403", "17", "1042"],
    "count": ["5", "10", "20", "40", "60"],
}
PLANS = ["free", "team", "company"]


def sentence(template: str, rng: np.random.RandomState) -> str:
    """Return a sentence with a random word in each slot."""
    for slot, words in SLOTS.items():
        while f"{{{slot}}}" in template:
            template = template.replace(f"{{{slot}}}", rng.choice(words), 1)
    end = "?" if template.startswith(("can", "could", "is")) else "."
    return template[0].upper() + template[1:] + end


def ticket(number: int, rng: np.random.RandomState) -> list[object]:
    """Return a row of the table."""
    plan = rng.choice(PLANS, p=[0.4, 0.4, 0.2])
    shares = np.array([0.1 if plan == "free" else 0.4, 0.3, 0.3, 0.25, 0.3])
    has = rng.rand(len(TOPICS)) < shares
    chosen = [rng.choice(TOPICS[topic]) for topic, one in zip(TOPICS, has, strict=True) if one]
    templates = chosen + list(rng.choice(OTHER, rng.randint(1, 4), replace=False))
    rng.shuffle(templates)
    seats = "" if rng.rand() < 0.05 else 1 + rng.poisson({"free": 1, "team": 8}.get(plan, 60))
    opened = date(2026, 1, 1) + timedelta(days=int(rng.randint(300)))
    text = " ".join(sentence(template, rng) for template in templates)
    labels = has ^ (rng.rand(len(TOPICS)) < 0.03)  # people who label tickets make mistakes
    return [f"T{number:04}", opened, plan, seats, text, *labels.astype(int)]


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", required=True)
    parser.add_argument("--rows", type=int, default=600)
    arguments = parser.parse_args()
    rng = np.random.RandomState(0)
    with open(arguments.out, "w", encoding="utf-8", newline="\n") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["id", "opened", "plan", "seats", "message", *TOPICS])
        writer.writerows(ticket(number, rng) for number in range(arguments.rows))


if __name__ == "__main__":
    main()
