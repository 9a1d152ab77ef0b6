<?php

declare(strict_types=1);

namespace Quotalock\Tests;

use Quotalock\Decision;
use Quotalock\Limiter;
use Quotalock\RuleDecision;

/** What a dropped decision leaves to the next one is nobody's any more. */
final class DroppedDecisionsTest extends TestCase
{
    private Limiter $limiter;

    protected function setUp(): void
    {
        parent::setUp();
        $this->limiter = client()->limiter('n', '1000/hour');
    }

    public function testWhatIsKeptOfADecisionStaysAsItWas(): void
    {
        $rules = $this->limiter->consume('k')->rules;
        $rule = $this->limiter->consume('k')->rules[0];
        $decision = $this->limiter->consume('k');
        $copy = clone $decision;
        $before = get_object_vars($copy->rules[0]);
        unset($decision);
        $this->others();
        self::assertSame([999, 998], [$rules[0]->remaining, $rule->remaining], 'a list and a rule');
        self::assertSame($before, get_object_vars($copy->rules[0]), 'what a clone shares');
        unset($copy);
        $this->others();
        self::assertSame([999, 998], [$rules[0]->remaining, $rule->remaining], 'also later');
    }

    public function testEachOfManyDecisionsHasRulesOfItsOwn(): void
    {
        $this->others();
        $decisions = array_map(fn (): Decision => $this->limiter->consume('k'), range(1, 5));
        $left = array_map(fn (Decision $decision): int => $decision->rules[0]->remaining, $decisions);
        self::assertSame(range(999, 995), $left);
        $ids = array_map(fn (Decision $decision): int => spl_object_id($decision->rules[0]), $decisions);
        self::assertCount(5, array_unique($ids), 'that no two share a rule');
    }

    public function testDecisionsOfOneRuleAndOfSeveralFollowEachOther(): void
    {
        $several = client()->limiter('m', '5/minute;token-bucket 7/hour');
        for ($round = 1; $round <= 4; $round++) {
            $one = $this->limiter->consume('k');
            self::assertSame([[1000, 1000 - $round, 'fixed-window']], self::told($one));
            unset($one);
            $two = $several->consume('k');
            $expected = [[5, 5 - $round, 'fixed-window'], [7, 7 - $round, 'token-bucket']];
            self::assertSame($expected, self::told($two));
            unset($two);
            $bucket = client()->limiter('b', 'token-bucket 9/hour')->consume('k');
            self::assertSame([[9, 8, 'token-bucket']], self::told($bucket));
        }
    }

    public function testWhoRefersWeaklyToADroppedRuleHasNothing(): void
    {
        $decision = $this->limiter->consume('k');
        $reference = \WeakReference::create($decision->rules[0]);
        $map = new \WeakMap();
        $map[$decision->rules[0]] = 1;
        unset($decision);
        $next = $this->limiter->consume('k');
        self::assertNull($reference->get(), 'the reference');
        self::assertCount(0, $map, 'the map');
        self::assertSame(998, $next->rules[0]->remaining);
    }

    public function testWhatTheCollectorOfCyclesFreesIsGone(): void
    {
        for ($round = 1; $round <= 5; $round++) {
            $before = $this->limiter->consume('k');
            $holder = new \stdClass();
            [$holder->self, $holder->decision] = [$holder, $before];
            $list = ['decisions' => [$this->limiter->consume('k')], 'holder' => null];
            $list['holder'] = &$list;
            unset($before, $holder, $list);
            self::assertGreaterThan(0, gc_collect_cycles());
            [$one, $other] = [$this->limiter->consume('k'), $this->limiter->consume('k')];
            $filler = array_map(fn (int $size): array => range(0, $size), range(1, 9));
            $left = 1000 - 4 * $round;
            $expected = [[[1000, $left + 1, 'fixed-window']], [[1000, $left, 'fixed-window']]];
            self::assertSame($expected, [self::told($one), self::told($other)]);
            self::assertCount(9, $filler);
            unset($one, $other);
        }
    }

    public function testARuleThatWasLookedAtFromAllSidesTellsNothingOld(): void
    {
        $looks = [
            fn (Decision $d) => (array) $d->rules[0],
            fn (Decision $d) => var_export($d, true),
            fn (Decision $d) => json_encode($d),
            fn (Decision $d) => get_object_vars($d->rules[0]),
            fn (Decision $d) => $d == unserialize(serialize($d)),
            fn (Decision $d) => iterator_to_array((fn () => yield from (array) $d->rules[0])()),
            function (Decision $d): void {
                foreach ($d->rules as $rule) {
                    foreach ($rule as $name => $value) {
                        self::assertSame($value, $rule->$name);
                    }
                }
            },
            fn (Decision $d) => (new \ReflectionProperty($d, 'rules'))->getValue($d),
            fn (Decision $d) => $d->headers(),
        ];
        $left = 1000;
        foreach ($looks as $look) {
            for ($round = 0; $round < 3; $round++) {
                $decision = $this->limiter->consume('k');
                $look($decision);
                $left--;
                self::assertSame([[1000, $left, 'fixed-window']], self::told($decision));
                self::assertSame($left, ((array) $decision->rules[0])['remaining'], 'as an array');
                self::assertSame($left, json_decode(json_encode($decision))->rules[0]->remaining, 'as JSON');
                unset($decision);
            }
        }
    }

    public function testDecisionsAreEqualIfWhatTheySayIs(): void
    {
        $this->others();
        $peek = fn (): Decision => $this->limiter->peek('new');
        self::assertTrue(unserialize(serialize($peek())) == $peek(), 'one that was stored');
        self::assertTrue($peek() == clone $peek(), 'a clone');
        self::assertFalse($peek() == $this->limiter->peek('new', 2), 'another cost');
        $decision = $peek();
        self::assertTrue(isset($decision->rules, $decision->rules[0]->quota));
        self::assertFalse(isset($decision->rules[1]) || isset($decision->other));
        $bare = (new \ReflectionClass(Decision::class))->newInstanceWithoutConstructor();
        self::assertFalse(isset($bare->rules));
        unset($bare);
        // PHP 8.5 and later say "indirectly" of the first.
        foreach ([fn () => $decision->rules[] = 1, fn () => $decision->rules = []] as $change) {
            self::assertMatchesRegularExpression(
                '/^Cannot (indirectly )?modify readonly property Quotalock\\\\Decision::\$rules$/',
                thrown(\Error::class, $change)->getMessage(),
            );
        }
    }

    public function testDroppingManyTakesNoMemory(): void
    {
        $drop = function (): void {
            for ($call = 0; $call < 200; $call++) {
                $kept = [$this->limiter->peek('k'), $this->limiter->peek('k')->rules, $this->limiter->peek('k')];
                self::assertCount(3, $kept);
            }
            gc_collect_cycles();
        };
        $drop();
        $before = memory_get_usage();
        $drop();
        self::assertSame($before, memory_get_usage());
    }

    /** Other decisions, made and dropped. */
    private function others(): void
    {
        for ($call = 0; $call < 3; $call++) {
            $this->limiter->consume('other', 7);
        }
    }

    private static function told(Decision $decision): array
    {
        $told = fn (RuleDecision $rule): array => [$rule->limit, $rule->remaining, $rule->algorithm];
        return array_map($told, $decision->rules);
    }
}
