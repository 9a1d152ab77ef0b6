<?php

declare(strict_types=1);

namespace Quotalock\Tests\Frameworks;

/** What Symfony's tests of policies have in common here: which of them do not apply, and why. */
final class Policies
{
    private const FOLDER = 'src/Symfony/Component/RateLimiter/Tests/Policy';

    private const EXCLUDED = [
        'reserve() waits for the tokens here; Symfony\'s lends them from the future and has the caller wait' => [
            'FixedWindowLimiterTest' => [
                'testReserveOutsideWindow', 'testReservePartiallyFilledWindow', 'testReserveExactlyAvailable',
            ],
            'SlidingWindowLimiterTest' => ['testReserve'],
            'TokenBucketLimiterTest' => [
                'testReserve', 'testReserveMaxWaitingTime', 'testReservationDebtSurvivesCacheExpiration',
            ],
        ],
        'tests a class of Symfony\'s own that keeps the state' => [
            'FixedWindowLimiterTest' => [
                'testWrongWindowFromCache', 'testWindowResilientToTimeShifting',
                'testWindowCarriesOverReservedTokensAfterReset', 'testWindowClearsLargeDebtWhenManyWindowsElapse',
                'testWindowAvailableTokensAccountsForCarriedDebt',
                'testReservedTokensCarryAcrossWindowBoundaryViaStorage',
                'testWindowExpirationGrowsWithCarriedDebt',
            ],
            'TokenBucketLimiterTest' => ['testWrongWindowFromCache', 'testBucketResilientToTimeShifting'],
        ],
        'the wait is exact here; Symfony\'s is rounded, or that of another number of tokens' => [
            'SlidingWindowLimiterTest' => [
                'testWaitIntervalOnConsumeOverLimit', 'testConsumeLastToken', 'testPeekConsume',
            ],
            'TokenBucketLimiterTest' => ['testPeekConsume'],
        ],
        'the share of the window before counts exactly here; Symfony\'s is rounded down' => [
            'SlidingWindowLimiterTest' => ['testConsume'],
        ],
        'expects "burst size" in the message; the core calls it the limit' => [
            'TokenBucketLimiterTest' => ['testReserveMoreTokensThanBucketSize'],
        ],
        'a bucket is filled evenly here, and not by the whole amount after each interval' => [
            'TokenBucketLimiterTest' => ['testBucketRefilledWithStrictFrequency'],
        ],
    ];

    /** Loads a class of them, whose limiters are made by `$make` instead of what stands in the file. */
    public static function load(string $class, string $type, string $made, string $make): void
    {
        $file = self::FOLDER . "/$class.php";
        $code = (string) file_get_contents(Upstream::find($file));
        $excluded = [];
        foreach (self::EXCLUDED as $reason => $classes) {
            foreach ($classes[$class] ?? [] as $test) {
                // The versions differ in what they test.
                str_contains($code, "function $test(") && $excluded[$test] = $reason;
            }
        }
        $instead = ["new $made" => '\\' . ClockedLimiter::class . "::$make"];
        str_contains($code, "): $type") && $instead["): $type"] = '): \\' . ClockedLimiter::class;
        Upstream::load($file, $excluded, $instead);
    }
}
