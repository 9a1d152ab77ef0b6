<?php

declare(strict_types=1);

namespace Quotalock\Tests;

/** Every vector of tests/spec on every store; see tests/spec/README.md. */
final class VectorsTest extends TestCase
{
    /** @var array<string, list<string>> the ids of the vectors that passed, by the URLs of their stores */
    private static array $passed = [];

    /** @return array<string, array{string}> the URLs of all stores and clusters, by their names */
    public static function stores(): array
    {
        return parent::stores() + array_map(fn (string $url) => [$url], clusters());
    }

    /** @return iterable<string, array{string, string, string}> a store, its URL, and the id of a vector */
    public static function vectors(): iterable
    {
        foreach (self::stores() as $store => [$url]) {
            foreach (array_keys(Vectors::cases()) as $id) {
                yield "$id on $store" => [$store, $url, $id];
            }
        }
    }

    /** @dataProvider vectors */
    public function testVector(string $store, string $url, string $id): void
    {
        (new Vectors($store, $url))->execute($id);
        self::$passed[$url][] = $id;
    }

    /**
     * Writes down which vectors passed, and fails unless they are those of the files.
     *
     * @dataProvider stores
     */
    public function testEveryVectorWasExecuted(string $url): void
    {
        $passed = self::$passed[$url] ?? [];
        sort($passed);
        $folder = ROOT . '/target/vectors';
        is_dir($folder) || mkdir($folder, recursive: true);
        file_put_contents("$folder/php-{$this->dataName()}.json", json_encode($passed, JSON_PRETTY_PRINT) . "\n");
        $wanted = array_keys(Vectors::cases());
        sort($wanted);
        self::assertGreaterThan(100, count($wanted), 'how many vectors were found');
        self::assertSame($wanted, $passed, 'the vectors that passed');
    }
}
