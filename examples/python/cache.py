"""A cache that never stampedes, and what is done once. Redis: QUOTALOCK_URL."""

import threading

import quotalock

client = quotalock.Client()


def render() -> str:
    """What is slow."""
    print("rendering")
    return "<h1>home</h1>"


# Of all who want the page, in whatever process, one renders it; after a minute it is served while one renders it anew.
pages = client.cache("pages", fresh=60.0, stale=600.0)
readers = [threading.Thread(target=pages.get, args=("home", render)) for _ in range(20)]
for reader in readers:
    reader.start()
for reader in readers:
    reader.join()
print(pages.get("home", render))

# Several at once: the loader is asked for those that are missing. JSON goes in and out as it is.
users = client.cache("users")
users.put("ada", "Ada")
print(users.get_many(["ada", "bob"], lambda missing: {key: key.title() for key in missing}))
print(client.cache("settings").get_json("theme", lambda: {"dark": True}))
print(users.invalidate("ada"), users.peek("ada"))

# A payment is made once, however often the order is sent; who comes later gets the receipt.
payments = client.once("payments")
print([payments.run("order:1", lambda: "receipt 7") for _ in range(2)])
print(bool(payments.claim("webhook:1")), bool(payments.claim("webhook:1")))
