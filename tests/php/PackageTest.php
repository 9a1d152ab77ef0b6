<?php

declare(strict_types=1);

namespace Quotalock\Tests;

/** The archive that is published: whoever unpacks it has all that it takes. */
final class PackageTest extends TestCase
{
    public function testItHoldsTheExtensionWhatIDEsReadHowToUseItAndTheLicence(): void
    {
        $folder = sys_get_temp_dir() . '/quotalock-package-' . bin2hex(random_bytes(6));
        $run = function (string ...$command): string {
            $process = proc_open($command, [1 => ['pipe', 'w'], 2 => ['redirect', 1]], $pipes, ROOT);
            $output = (string) stream_get_contents($pipes[1]);
            self::assertSame(0, proc_close($process), "the exit code of {$command[0]} ($output)");
            return $output;
        };
        // Of what was built for these tests.
        $settings = ["DIST=$folder", 'PHP_MODULE=' . extension()];
        $run('make', '--no-print-directory', 'package-php', '--assume-old=build-php', ...$settings);
        [$archive] = glob("$folder/quotalock-php-*.tar.gz");
        $run('tar', '-xzf', $archive, '-C', $folder);
        unlink($archive);
        $files = array_map(basename(...), glob("$folder/*"));
        sort($files);
        self::assertSame(['LICENSE', 'README.md', 'ratelimit.so', 'ratelimit.stub.php'], $files, 'what it holds');
        self::assertTrue(filesize("$folder/ratelimit.so") < filesize(extension()), 'that symbols are left out');
        // A table of symbols is what a debugger wants, and nobody else.
        self::assertStringNotContainsString('.symtab', $run('readelf', '-SW', "$folder/ratelimit.so"));
        $readme = (string) file_get_contents("$folder/README.md");
        self::assertStringContainsString('sudo install -m 644 ratelimit.so', $readme, 'how to install it');
        $output = $run(PHP_BINARY, '-n', '-d', "extension=$folder/ratelimit.so", '-r', 'echo Quotalock\Client::class;');
        self::assertSame('Quotalock\Client', $output, 'what it defines');
        array_map(unlink(...), glob("$folder/*"));
        rmdir($folder);
    }

    public function testASecondCopyIsRefusedByPhpAndTheFirstOneWorks(): void
    {
        $copy = sys_get_temp_dir() . '/quotalock-copy-' . bin2hex(random_bytes(6)) . '.so';
        copy(extension(), $copy);
        $code = 'echo (new Quotalock\Client("memory://"))->limiter("n", "3/day")->consume("k")->remaining;';
        foreach ([extension(), $copy] as $second) {
            [$output, $status] = php($code, ['-d', "extension=$second"]);
            self::assertStringContainsString('Module "ratelimit" is already loaded', $output, 'the warning');
            self::assertSame(['2', 0], [substr($output, -1), $status], 'what the first one answers');
        }
        unlink($copy);
    }
}
