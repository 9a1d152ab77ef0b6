<?php

declare(strict_types=1);

namespace Quotalock\Tests\Frameworks\Psr;

use PHPUnit\Framework\TestCase;

use const Quotalock\Tests\ROOT;

/** Composer installs the packages as docs/frameworks/README.md tells, without a registry, and finds what they need. */
final class ComposerTest extends TestCase
{
    private const PACKAGES = ['laravel', 'psr', 'symfony', 'wordpress'];
    private const PROGRAM = <<<'PHP'
        <?php require 'vendor/autoload.php';
        $cache = new Quotalock\Psr\SimpleCache(new Quotalock\Client('memory://'), name: 'products', defaultTtl: 600);
        echo $cache->set('42', 'a product', 60) ? $cache->get('42') : 'nothing';
        PHP;

    private string $folder;

    /** @var array<string, mixed> The composer.json of an application. */
    private array $settings;

    protected function setUp(): void
    {
        $this->folder = sys_get_temp_dir() . '/quotalock-composer-' . bin2hex(random_bytes(6));
        mkdir($this->folder);
        $page = (string) file_get_contents(ROOT . '/docs/frameworks/README.md');
        self::assertSame(1, preg_match('/```json\n(.*?)```/s', $page, $block));
        $settings = json_decode(str_replace('../quotalock/', ROOT . '/', $block[1]), true, flags: JSON_THROW_ON_ERROR);
        $standards = ROOT . '/target/frameworks/php/psr-simple-cache-3';
        $of = ['versions' => ['psr/simple-cache' => '3.0.0']];
        array_push($settings['repositories'], ['type' => 'path', 'url' => $standards, 'options' => $of]);
        array_push($settings['repositories'], ['packagist.org' => false]);
        // It is not among those: here the application says that it has it.
        $settings['provide'] = ['illuminate/cache' => '10.48.0'];
        self::assertSame(['quotalock/laravel' => '0.1.0'], $settings['require']);
        $settings['require'] = ['psr/simple-cache' => '*'];
        $this->settings = $settings;
        file_put_contents("$this->folder/program.php", self::PROGRAM);
    }

    protected function tearDown(): void
    {
        exec('rm -r ' . escapeshellarg($this->folder));
    }

    public function testTheyAreInstalledAndFound(): void
    {
        foreach ([['install'], ['update', 'quotalock/*']] as $command) {
            file_put_contents("$this->folder/composer.json", json_encode($this->settings, JSON_THROW_ON_ERROR));
            [$status, $output] = $this->inFolder(['/usr/bin/composer', ...$command], true);
            self::assertSame(0, $status, $output);
            $this->addOurs();
        }
        self::assertSame([0, 'a product'], $this->inFolder(['program.php'], true));
    }

    public function testTheyNeedTheExtension(): void
    {
        $this->addOurs();
        file_put_contents("$this->folder/composer.json", json_encode($this->settings, JSON_THROW_ON_ERROR));
        [$status, $output] = $this->inFolder(['/usr/bin/composer', 'install'], false);
        self::assertNotSame(0, $status, $output);
        self::assertStringContainsString('ext-ratelimit', $output);
    }

    private function addOurs(): void
    {
        $packages = array_map(fn (string $name): string => "quotalock/$name", self::PACKAGES);
        $this->settings['require'] += array_fill_keys($packages, '0.1.0');
    }

    /**
     * Runs PHP in the folder: how it ended, and what it printed.
     *
     * @param list<string> $words
     * @return array{int, string}
     */
    private function inFolder(array $words, bool $isExtended): array
    {
        $module = $isExtended ? ['-d', 'extension=' . ROOT . '/bindings-php/modules/ratelimit.so'] : [];
        $alone = ['COMPOSER_ALLOW_SUPERUSER' => '1', 'COMPOSER_NO_INTERACTION' => '1'];
        $home = ['COMPOSER_HOME' => "$this->folder/home"] + $alone;
        $pipes = [1 => ['pipe', 'w'], 2 => ['redirect', 1]];
        $process = proc_open([PHP_BINARY, ...$module, ...$words], $pipes, $ends, $this->folder, $home + getenv());
        self::assertIsResource($process);
        $output = (string) stream_get_contents($ends[1]);
        return [proc_close($process), $output];
    }
}
