"""Locks, that end by themselves: of one, of several, of a number of places. Redis: QUOTALOCK_URL."""

import quotalock

client = quotalock.Client()

# Waits for up to 5 seconds, is renewed while the block runs, and released at its end.
with client.lock("sku:42", wait=5.0, label="checkout") as lock:
    # What the lock protects refuses a token that is smaller than one it has seen.
    print("alone, with a token:", lock.token is not None)
    lock.assert_held()

    # Another one is not let in, and is told why.
    other = client.lock("sku:42")
    print("another:", other.acquire(), [holder.label for holder in other.inspect().holders])
    try:
        with other:
            pass
    except quotalock.NotAcquired as refused:
        print(refused.code)

# Several at once, all or none: in whatever order they are named, nobody waits for ever.
with client.lock_all(["account:1", "account:2"], wait=5.0):
    print("both")

# A number of places, of which a big job takes two.
places = [client.semaphore("exports", permits=3, weight=weight) for weight in (1, 2, 1)]
print("places:", [place.acquire() for place in places], [place.release() for place in places])

# Many readers, or one writer.
readers, writer = [client.read_lock("catalogue") for _ in range(2)], client.write_lock("catalogue")
print("readers:", [reader.acquire() for reader in readers], "writer:", writer.acquire())
print("gone:", [reader.release() for reader in readers], "writer:", writer.acquire(), writer.release())
