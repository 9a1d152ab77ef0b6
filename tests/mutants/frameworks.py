"""Faults of the packages for frameworks: who is nobody, what cannot be, and when Redis is away."""

from __future__ import annotations

from mutant import Mutant

PHP = "bindings-php/packages"
PYTHON = "bindings-python/python/quotalock"
NODE = "bindings-node"
TESTS = ()
MUTANTS = [
    Mutant(
        "each address of an IPv6 network is another guest of Laravel's throttle",
        f"{PHP}/laravel/src/ThrottleRequests.php",
        "client_address($request->ip() ?? '', null, [])",
        "$request->ip()",
        suites=("frameworks-php",),
    ),
    Mutant(
        "a key of nothing is one key for all in Laravel, in PSR-15 and in Symfony",
        f"{PHP}/support/src/Keys.php",
        "if (is_string($text) && $text !== '') {",
        "if (true) {\n            $text = is_scalar($text) ? (string) $text : 'all';",
        suites=("frameworks-php",),
    ),
    Mutant(
        "a limiter of Laravel's that gives nothing admits everything",
        f"{PHP}/laravel/src/Decider.php",
        "$given ?? throw",
        "false && throw",
        suites=("frameworks-php",),
    ),
    Mutant(
        "a job of Laravel's is not asked whom it counts for",
        f"{PHP}/laravel/src/Queue/RateLimited.php",
        "public function handle($job, $next)",
        "public function handleJobs($job, $next)",
        suites=("frameworks-php",),
    ),
    Mutant(
        "a job whose limit is 0 is an error",
        f"{PHP}/laravel/src/Queue/RateLimited.php",
        "if ($closed !== null) {",
        "if (false) {",
        suites=("frameworks-php",),
    ),
    Mutant(
        "Laravel says to come again at once though Redis is away",
        f"{PHP}/laravel/src/RateLimiter.php",
        "max($decision->resetAfterMs, $decision->retryAfterMs ?? 0)",
        "$decision->resetAfterMs",
        suites=("frameworks-php",),
    ),
    Mutant(
        "a path that PCRE gives up on is not limited",
        f"{PHP}/symfony/src/EventListener/RequestLimits.php",
        "$request->getPathInfo()) !== 0",
        "$request->getPathInfo()) === 1",
        suites=("frameworks-php",),
    ),
    Mutant(
        "proxies that mean everybody are told to whoever logs in to WordPress",
        f"{PHP}/wordpress/Plugin.php",
        "client_address('192.0.2.1', null, $settings['trusted']);",
        "",
        suites=("frameworks-php",),
    ),
    Mutant(
        "limits of Laravel's drop their lease",
        f"{PHP}/laravel/src/Decider.php",
        "$this->leases[$name] ?? null",
        "null",
        suites=("frameworks-php",),
    ),
    Mutant(
        "limits of Symfony's requests drop their lease",
        f"{PHP}/symfony/src/EventListener/RequestLimits.php",
        ", lease: $rule['lease']",
        "",
        suites=("frameworks-php",),
    ),
    Mutant(
        "limits of Python's frameworks drop their lease",
        f"{PYTHON}/_web.py",
        "client.limiter(name, policy, scope, enforce, lease)",
        "client.limiter(name, policy, scope, enforce)",
        suites=("frameworks-python",),
    ),
    Mutant(
        "a lease that cannot be is found out by a request in Python",
        f"{PYTHON}/_web.py",
        'limiter("policy", policy, lease=lease)',
        'limiter("policy", policy)',
        suites=("frameworks-python",),
    ),
    Mutant(
        "a cost of nothing refuses nobody in Python",
        f"{PYTHON}/_web.py",
        "isinstance(cost, bool) or cost < 1)",
        "isinstance(cost, bool))",
        suites=("frameworks-python",),
    ),
    Mutant(
        "what is no function is found out by a request in Python",
        f"{PYTHON}/_web.py",
        "if function is not None and not callable(function):",
        "if False:",
        suites=("frameworks-python",),
    ),
    Mutant(
        "no limits at all are limits in FastAPI",
        f"{PYTHON}/fastapi.py",
        "if not limits or not all",
        "if not all",
        suites=("frameworks-python",),
    ),
    Mutant(
        "a key that Django does not know is found out by a request",
        f"{PYTHON}/django/_limit.py",
        "if self.key and not callable(self.key)",
        "if False and not callable(self.key)",
        suites=("frameworks-python",),
    ),
    Mutant(
        "the text of another lock is adopted",
        "core/src/lock/handover.rs",
        "name.filter(|name| passed.names != [*name])",
        "name.filter(|_| false)",
        suites=("frameworks-php",),
    ),
    Mutant(
        "a lock of Laravel's is restored by the owner of another",
        "bindings-php/packages/laravel/src/QuotalockLock.php",
        "$this->client->adopt($this->owner, $this->name, $ttlMs)",
        "$this->client->adopt($this->owner, null, $ttlMs)",
        suites=("frameworks-php",),
    ),
    Mutant(
        "a key of Symfony's takes the lock of another",
        "bindings-php/packages/symfony/src/Lease.php",
        "$client->adopt($this->text, $name, $ttlMs)",
        "$client->adopt($this->text, null, $ttlMs)",
        suites=("frameworks-php",),
    ),
    Mutant(
        "a ttl of Symfony's counts as granted just now, however long ago that was",
        "bindings-php/packages/symfony/src/Lease.php",
        "return $goneMs * 1000 < $ttlMs ?",
        "return $goneMs < $ttlMs ?",
        suites=("frameworks-php",),
    ),
    Mutant(
        "a cost of nothing refuses nobody in Node",
        f"{NODE}/lib/web.js",
        "!(Number.isSafeInteger(cost) && cost > 0)",
        "false",
        suites=("frameworks-node",),
    ),
    Mutant(
        "a key of nothing is one key for all in Node",
        f"{NODE}/lib/web.js",
        "&& key.length > 0) return key",
        ") return key",
        suites=("frameworks-node",),
    ),
    Mutant(
        "Fastify adds a charset to the type of a problem",
        f"{NODE}/frameworks/fastify.js",
        ".serializer(asIs)",
        "",
        suites=("frameworks-node",),
    ),
    Mutant(
        "limits of Node's frameworks drop their lease",
        f"{NODE}/lib/web.js",
        "rules, pick(more, LIMITER_OPTIONS))",
        "rules, pick(more, ['scope', 'enforce']))",
        suites=("frameworks-node",),
    ),
    Mutant(
        "the body of a refusal is no JSON where a limit's name has quotes",
        "core/src/http/problem.rs",
        """c @ ('"' | '\\\\') => json.extend(['\\\\', c]),""",
        """c @ ('"' | '\\\\') => json.push(c),""",
        suites=("core", "frameworks-node"),
    ),
]
