<?php

declare(strict_types=1);

namespace Quotalock\Symfony\RateLimiter;

use Quotalock\Client;
use Quotalock\Exception\QuotalockException;
use Quotalock\Rule;
use Quotalock\Support\Keys;
use Quotalock\Support\Names;
use Symfony\Component\RateLimiter\LimiterInterface;
use Symfony\Component\RateLimiter\Policy\NoLimiter;

/**
 * Makes limiters from the settings that Symfony's RateLimiterFactory takes: `id`, `policy`, `limit`, `interval` and
 * `rate`. A decision is one call of Redis, without a lock or a cache pool.
 *
 * Instead of Symfony's policies `policy` may be a policy of Quotalock's, such as `10/minute;100/hour`.
 */
final class LimiterFactory implements FactoryInterface
{
    private const KEYS = ['id', 'policy', 'limit', 'interval', 'rate', 'scope'];

    private readonly ?\Quotalock\Limiter $limiter;

    /**
     * @param array{
     *     id: string, policy: string, limit?: int, interval?: string, rate?: array{interval: string, amount?: int},
     *     scope?: string|null
     * } $config `scope` is what limiters that are asked in one call have in common, in a Redis Cluster
     * @throws \LogicException if there can be no such limiter
     */
    public function __construct(Client $client, array $config)
    {
        $id = $config['id'] ?? throw new \LogicException('A rate limiter needs an "id".');
        $unknown = array_diff(array_keys($config), self::KEYS);
        if ($unknown !== []) {
            throw new \LogicException(sprintf('Rate limiter "%s": there is no option "%s".', $id, reset($unknown)));
        }
        try {
            Names::own($id);
            $policy = self::policy($config);
            $this->limiter = $policy === null ? null : $client->limiter($id, $policy, $config['scope'] ?? null);
        } catch (QuotalockException | \LogicException | \TypeError $problem) {
            throw new \LogicException("Rate limiter \"$id\": {$problem->getMessage()}", 0, $problem);
        }
    }

    /** A limiter for a key: a user, an address. Without one all share the limit, as in Symfony. */
    public function create(?string $key = null): LimiterInterface
    {
        // No key that is given can be the key of all.
        $whom = $key === null ? '-' : Keys::fitted("k$key");
        return $this->limiter === null ? new NoLimiter() : new Limiter($this->limiter, $whom);
    }

    private static function policy(array $config): Rule|string|null
    {
        $algorithm = match ($config['policy'] ?? '') {
            'fixed_window' => 'fixed-window',
            'sliding_window' => 'sliding-window',
            'token_bucket' => 'token-bucket',
            'no_limit' => null,
            default => false,
        };
        if ($algorithm === null) {
            return null;
        }
        if ($algorithm === false) {
            $policy = $config['policy'] ?? '';
            return $policy !== '' ? $policy : throw new \LogicException('it has no policy.');
        }
        $limit = $config['limit'] ?? throw new \LogicException("the policy \"{$config['policy']}\" needs a \"limit\".");
        if ($algorithm !== 'token-bucket') {
            return new Rule($limit, self::milliseconds($config['interval'] ?? null), $algorithm);
        }
        $rate = ($config['rate'] ?? []) + ['amount' => 1, 'interval' => null];
        return new Rule($rate['amount'], self::milliseconds($rate['interval']), $algorithm, $limit);
    }

    /** How long an interval is in words that PHP understands. A month has 31 days, a year 365, whatever the date. */
    private static function milliseconds(?string $interval): int
    {
        $interval ?? throw new \LogicException('an "interval" is missing.');
        $end = false;
        try {
            $end = @(new \DateTimeImmutable('@0'))->modify("+$interval");
        } catch (\Exception) {
            // PHP 8.3 throws where earlier versions return false.
        }
        return $end === false
            ? throw new \LogicException(sprintf(
                'Cannot parse interval "%s", please use a valid unit as described on'
                    . ' https://php.net/datetime.formats#datetime.formats.relative',
                $interval,
            ))
            : $end->getTimestamp() * 1000;
    }
}
