<?php

declare(strict_types=1);

namespace Quotalock\Tests\Frameworks;

use Quotalock\Client;
use Quotalock\Testing;

/**
 * The rows of ../matrix.json for a package: how many requests of each sender it admits, next to how many it must. Each
 * situation has a store of its own whose time is stepped. The table is printed when the last row has been played.
 */
trait PlaysMatrix
{
    /** What a client sends for a user name; null is no field at all. No list, so that messages say which one it was. */
    private static array $spoilers = [
        'no field' => null, 'an empty text' => '', '1,025 bytes' => 'u', 'a list' => ['ada'],
        'a map' => ['name' => 'ada'], 'a control character' => "a\nb", 'NUL' => "a\0", 'no UTF-8' => "a\xff",
        'a surrogate' => "a\xed\xa0\x80", 'a fraction' => 1.5, 'a flag' => true,
    ];

    /** @var array<string, string> the cells that were played, by row */
    private static array $cells = [];

    /**
     * Builds an application that declares these limits.
     *
     * @param array<string, array<string, mixed>> $limits of matrix.json, by their ids
     */
    abstract protected function build(array $limits, Client $client): void;

    /**
     * Asks the application.
     *
     * @param array{method: string, path: string, address: string, fields: array<string, mixed>} $asked
     * @return array{int, array<string, mixed>} the status, and the headers by small names
     */
    abstract protected function ask(array $asked): array;

    /** @return array<string, string> the rows that the package has no word for, and why */
    abstract protected static function none(): array;

    /**
     * @return array<string, list<array<string, int>|null>> what situations admit that the package documents to count
     *     otherwise, by row; null for one as the matrix says
     */
    protected static function documented(): array
    {
        return [];
    }

    /** What clients of the package have, if they are not given one: the time is set for those of the same settings. */
    protected static function onError(): ?string
    {
        return null;
    }

    /** @return list<string> the spoilers that are keys like any other here */
    protected static function accepted(): array
    {
        return [];
    }

    /** @dataProvider rows */
    public function testWhatIsAdmittedIsWhatIsAllowed(string $id): void
    {
        $row = self::matrix()[$id];
        $reason = static::none()[$id] ?? null;
        if ($reason !== null) {
            self::$cells[$id] = "none: $reason";
            self::assertNotSame('', $reason);
            return;
        }
        $shown = [];
        foreach ($row['situations'] as $at => $situation) {
            $situation['admitted'] = static::documented()[$id][$at] ?? $situation['admitted'] ?? [];
            array_push($shown, ...$this->play($situation, "$id, situation $at"));
        }
        self::$cells[$id] = implode(', ', array_unique($shown));
    }

    /** @return array<string, array{string}> */
    public static function rows(): array
    {
        return array_map(fn (array $row): array => [$row['id']], self::matrix());
    }

    public static function tearDownAfterClass(): void
    {
        parent::tearDownAfterClass();
        $run = getenv('QUOTALOCK_RUN') ?: static::class;
        $lines = ["\nadmitted/allowed, $run:"];
        foreach (array_keys(self::matrix()) as $id) {
            $lines[] = sprintf('| %-17s | %s', $id, self::$cells[$id] ?? 'not played');
        }
        fwrite(STDOUT, implode("\n", $lines) . "\n");
    }

    /** @return list<string> each sender: admitted/allowed */
    private function play(array $situation, string $where): array
    {
        static $number = 0;
        $client = new Client('memory://matrix-' . $number++, onError: static::onError());
        Testing::setTime($client, 1_700_000_000_000_000);
        $this->build($situation['limits'], $client);
        [$admitted, $statuses] = [[], []];
        for ($round = 0; $round < $situation['rounds']; $round++) {
            Testing::advance($client, $situation['every_ms']);
            foreach ($situation['requests'] as $given) {
                foreach ($this->asked($given, $situation['limits'], $round) as $how => $asked) {
                    [$status, $headers] = $this->ask($asked);
                    $sender = $given['sender'];
                    $admitted[$sender] = ($admitted[$sender] ?? 0)
                        + (int) ($status === 200 && $asked['method'] !== 'OPTIONS');
                    $statuses[$sender][$status] = ($statuses[$sender][$status] ?? 0) + 1;
                    self::assertLessThan(500, $status, "$where: $how");
                    if (isset($situation['statuses_allowed'])) {
                        self::assertContains($status, $situation['statuses_allowed'], "$where: $how");
                    }
                    $of = $situation['headers_of_all'] ?? [];
                    $of = [...$of, ...($status === 429 ? $situation['headers_of_refusals'] ?? [] : [])];
                    foreach ($of as $name) {
                        self::assertArrayHasKey($name, $headers, "$where: an answer with $status");
                    }
                }
            }
        }
        $shown = [];
        foreach ($situation['admitted'] as $sender => $allowed) {
            $shown[] = "$sender {$admitted[$sender]}/$allowed";
        }
        $asked = array_intersect_key($admitted, $situation['admitted']);
        self::assertEquals($situation['admitted'], $asked, $where);
        foreach ($situation['at_most'] ?? [] as $sender => $most) {
            $shown[] = "$sender {$admitted[$sender]}/at most $most";
            self::assertLessThanOrEqual($most, $admitted[$sender], "$where: $sender");
        }
        foreach ($situation['statuses'] ?? [] as $sender => $wanted) {
            ksort($statuses[$sender]);
            $shown[] = $sender . ' ' . urldecode(http_build_query($statuses[$sender], '', ' '));
            self::assertEquals($wanted, $statuses[$sender], "$where: $sender");
        }
        return $shown;
    }

    /** @return array<string, array<string, mixed>> the requests of an entry, which are several if it spoils its key */
    private function asked(array $given, array $limits, int $round): array
    {
        $path = $given['path'] ?? null;
        foreach ($limits as $limit) {
            $at = fn (array $of): array => [$of['class'] ?? '', $of['mount'] ?? ''];
            if ($at($given) === $at($limit)) {
                $path ??= self::path($limit);
            }
        }
        $asked = [
            'method' => $given['method'] ?? 'GET',
            'path' => str_replace('{round}', (string) $round, $path ?? '/x'),
            'address' => $given['address'] ?? '192.0.2.1',
            'fields' => array_intersect_key($given, ['user' => 0, 'shop' => 0]),
        ];
        if (($given['user'] ?? '') !== '{spoiler}') {
            return ['' => $asked];
        }
        $all = [];
        foreach (array_diff_key(self::$spoilers, array_flip(static::accepted())) as $how => $spoiler) {
            $fields = $spoiler === null ? [] : ['user' => $how === '1,025 bytes' ? str_repeat('u', 1025) : $spoiler];
            $all[$how] = ['fields' => $fields] + $asked;
        }
        return $all;
    }

    /** Where a declared limit holds. */
    private static function path(array $limit): string
    {
        $class = isset($limit['class']) ? "/{$limit['class']}" : '';
        return ($limit['mount'] ?? '') . $class . ($limit['path'] ?? '/x');
    }

    /** @return array{int, int} the limit and the seconds of a policy such as 5/hour */
    private static function numbers(string $policy): array
    {
        [$limit, $period] = explode('/', $policy);
        return [(int) $limit, ['minute' => 60, 'hour' => 3600][$period]];
    }

    /** @return array<string, array<string, mixed>> the rows by id */
    private static function matrix(): array
    {
        $text = file_get_contents(ROOT . '/tests/frameworks/matrix.json');
        return array_column(json_decode($text, true, flags: JSON_THROW_ON_ERROR)['rows'], null, 'id');
    }
}
