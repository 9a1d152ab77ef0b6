<?php

/** Exceptions: their classes, codes and messages, and what they tell of where they happened. */

declare(strict_types=1);

namespace Quotalock\Tests;

use Quotalock\Client;
use Quotalock\Exception\ClosedException;
use Quotalock\Exception\InvalidArgumentException;
use Quotalock\Exception\InvalidPolicyException;
use Quotalock\Exception\NotPermittedException;
use Quotalock\Exception\QuotalockException;
use Quotalock\Exception\RateLimitedException;
use Quotalock\Exception\UnavailableException;
use Quotalock\Exception\WrongTypeException;
use Quotalock\Testing;

test('an exception has the class of its code, and says where it was thrown', function () {
    $line = __LINE__ + 1;
    $error = thrown(InvalidArgumentException::class, fn () => client()->limiter('n', '1/s')->consume(''));
    same(['invalid_argument', 0], [$error->getErrorCode(), $error->getCode()], 'the codes');
    same([__FILE__, $line], [$error->getFile(), $error->getLine()], 'the place');
    same(['consume', 'Quotalock\Limiter'], [$error->getTrace()[0]['function'], $error->getTrace()[0]['class']]);
    contains('errors.php(', $error->getTraceAsString());
    holds($error instanceof QuotalockException && $error instanceof \InvalidArgumentException, 'what it is');
    thrown(InvalidPolicyException::class, fn () => client()->limiter('n', '1/month'));
});

test('an uncaught exception ends the script as PHP\'s own do', function () {
    [$output, $code] = php('(new Quotalock\Client("memory://"))->limiter("n", "1/s")->consume("");');
    contains('Uncaught Quotalock\Exception\InvalidArgumentException: key', $output);
    contains('Quotalock\Limiter->consume(', $output);
    contains('on line 1', $output);
    same(255, $code, 'the exit code');
});

test('a denied require carries its decision', function () {
    $limiter = client()->limiter('checkout', '1/minute');
    same(0, $limiter->require('user:42')->remaining, 'remaining');
    $error = thrown(RateLimitedException::class, fn () => $limiter->require('user:42'));
    same('limited', $error->getErrorCode(), 'the code');
    contains('"user:42" is over the limit of "checkout"', $error->getMessage());
    same([false, 0], [$error->getDecision()->allowed, $error->getDecision()->remaining], 'the decision');
    holds($error->getDecision()->retryAfterMs > 50_000, 'retryAfterMs');
    holds($error->getDecision() === $error->getDecision(), 'that it is one decision');
    same([__FILE__, 'require'], [$error->getFile(), $error->getTrace()[0]['function']], 'the place');
    thrown(\Error::class, fn () => (new RateLimitedException('made by hand'))->getDecision());
});

test('exceptions can be chained and extended with PHP\'s means', function () {
    $cause = new ClosedException('cause');
    $error = new UnavailableException('effect', 3, $cause);
    same($cause, $error->getPrevious(), 'the previous one');
    holds(unserialize(serialize($cause)) instanceof ClosedException, 'that it survives serialization');
});

test('no password shows, wherever one looks', function () {
    $port = freePort();
    $client = new Client("redis://user:s3cret@127.0.0.1:$port", prefix());
    same("127.0.0.1:$port", $client->server, 'the server');
    $shown = print_r($client, true) . var_export($client, true) . json_encode($client);
    $error = thrown(UnavailableException::class, fn () => $client->limiter('n', '1/s')->peek('k'));
    lacks('s3cret', $shown . $error . print_r($error, true));
    [$output] = php('new Quotalock\Client("redis://user:s3cret@host:99999");', ['-d', 'zend.exception_ignore_args=0']);
    contains('99999', $output);
    contains('SensitiveParameterValue', $output);
    // The line itself is not part of the output, only the arguments of its calls would be.
    lacks('s3cret', $output);
});

test('a closed client says so, and its limiters too', function () {
    $client = client();
    $limiter = $client->limiter('n', '1/s');
    $reservation = $limiter->reserve('held', 1, 1000);
    $client->close();
    $client->close();
    foreach (['consume', 'peek', 'require', 'reset'] as $method) {
        thrown(ClosedException::class, fn () => $limiter->$method('k'));
    }
    thrown(ClosedException::class, fn () => $limiter->wait('k', 1000));
    thrown(ClosedException::class, fn () => $limiter->consumeUpTo('k', 1));
    thrown(ClosedException::class, fn () => $limiter->reserve('k', 1, 1000));
    thrown(ClosedException::class, fn () => $limiter->reservation('k', $reservation->id));
    thrown(ClosedException::class, fn () => $reservation->settle(1));
    thrown(ClosedException::class, fn () => $reservation->cancel());
    thrown(ClosedException::class, fn () => $client->consumeAll([[$limiter, 'k']]));
    thrown(ClosedException::class, fn () => $client->limiter('n', '1/s'));
    thrown(ClosedException::class, fn () => Testing::get($client, 'k'));
});

test('a key of another type is named', function () {
    $client = client(server());
    $limiter = $client->limiter('n', '1/s');
    Testing::put($client, $limiter->redisKey('k'), 'list', '');
    $error = thrown(WrongTypeException::class, fn () => $limiter->consume('k'));
    same('wrong_type', $error->getErrorCode(), 'the code');
    contains($limiter->redisKey('k'), $error->getMessage());
});

test('the leftover of the incident is healed by the first call', function () {
    foreach (servers() as $url) {
        $client = client($url);
        $limiter = $client->limiter('item', '1/minute');
        Testing::put($client, $limiter->redisKey('k'), 'string', '-37412');
        same(null, Testing::get($client, $limiter->redisKey('k'))['ttlMs'], 'the TTL before');
        $decision = $limiter->consume('k');
        same([true, true], [$decision->allowed, $decision->healed], 'the first decision');
        holds(Testing::get($client, $limiter->redisKey('k'))['ttlMs'] > 0, 'that it has a TTL now');
        $decision = $limiter->consume('k');
        same([false, false], [$decision->allowed, $decision->healed], 'the second decision');
    }
});

test('a missing or wrong password is not permitted', function () {
    $server = new RedisServer('--requirepass', 'right');
    foreach (['', ':wrong@', 'nobody:right@'] as $login) {
        $client = new Client($server->url($login), prefix());
        $error = thrown(NotPermittedException::class, fn () => $client->limiter('n', '1/s')->consume('k'));
        same('not_permitted', $error->getErrorCode(), 'the code');
        lacks('right', $error->getMessage());
    }
    same(true, (new Client($server->url(':right@'), prefix()))->limiter('n', '1/s')->consume('k')->allowed, 'allowed');
});

test('a user without a right is told which', function () {
    $server = new RedisServer();
    $redis = redis($server->url());
    $redis->rawCommand('ACL', 'SETUSER', 'app', 'on', '>secret', '~*', '+@all', '-evalsha', '-eval');
    $client = new Client($server->url('app:secret@'), prefix());
    $error = thrown(NotPermittedException::class, fn () => $client->limiter('n', '1/s')->consume('k'));
    contains('eval', strtolower($error->getMessage()));
    lacks('secret', $error->getMessage());
});

test('a full Redis is unavailable, and heals when there is room', function () {
    $server = new RedisServer('--maxmemory-policy', 'noeviction');
    $client = new Client($server->url(), prefix());
    $limiter = $client->limiter('n', '5/minute');
    same(4, $limiter->consume('k')->remaining, 'remaining');
    $redis = redis($server->url());
    $redis->config('SET', 'maxmemory', '1');
    $error = thrown(UnavailableException::class, fn () => $limiter->consume('k'));
    contains('memory', strtolower($error->getMessage()));
    $redis->config('SET', 'maxmemory', '0');
    same(3, $limiter->consume('k')->remaining, 'remaining when there is room again');
});
