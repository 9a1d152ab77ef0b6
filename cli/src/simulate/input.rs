//! The lines of a log, in bounded memory: plain or gzip, a file or standard input.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Cursor, Read};
use std::ops::Range;
use std::path::Path;
use std::rc::Rc;

use flate2::read::MultiGzDecoder;

/// What is read at once.
const CHUNK: usize = 64 << 10;
/// Lines with more bytes are passed over: no access log has any.
const LONGEST: usize = 1 << 20;
/// What a gzip file begins with.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// How much was read of all files, before it was unpacked.
pub type Progress = Rc<Cell<u64>>;

/// A line, or what stands in its place.
pub enum Line {
    /// Where it is in the buffer, without its end.
    At(Range<usize>),
    /// There was one that is too long.
    TooLong,
    /// There are no more.
    End,
}

/// Something with lines.
pub struct Input {
    inner: Box<dyn Read>,
    buffer: Vec<u8>,
    /// What of the buffer was read and not yet told.
    held: Range<usize>,
    ended: bool,
    /// Whether the rest of a line that is too long is passed over.
    skipping: bool,
}

struct Counted<R> {
    inner: R,
    read: Progress,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(buffer)?;
        self.read.set(self.read.get() + length as u64);
        Ok(length)
    }
}

impl Input {
    /// Opens a file, or standard input for `-`, and tells its size if it has one.
    ///
    /// # Errors
    /// What the system says; a directory is one.
    pub fn open(path: &Path, read: Progress) -> io::Result<(Input, Option<u64>)> {
        if path == Path::new("-") {
            return Ok((Input::new(io::stdin(), read)?, None));
        }
        let file = File::open(path)?;
        let about = file.metadata()?;
        if about.is_dir() {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory: name the files in it"));
        }
        let size = about.is_file().then_some(about.len());
        Ok((Input::new(file, read)?, size))
    }

    /// Reads from anything; whether it is packed is seen by how it begins.
    ///
    /// # Errors
    /// As its first reading.
    pub fn new(inner: impl Read + 'static, read: Progress) -> io::Result<Input> {
        let mut inner = Counted { inner, read };
        let mut start = Vec::new();
        inner.by_ref().take(3).read_to_end(&mut start)?;
        let is_packed = start.starts_with(&GZIP);
        if start == b"\xef\xbb\xbf" {
            // A mark of the byte order says nothing.
            start.clear();
        }
        let whole = Cursor::new(start).chain(inner);
        let inner: Box<dyn Read> = if is_packed {
            Box::new(MultiGzDecoder::new(io::BufReader::with_capacity(CHUNK, whole)))
        } else {
            Box::new(whole)
        };
        Ok(Input { inner, buffer: vec![0; CHUNK], held: 0..0, ended: false, skipping: false })
    }

    /// The next line.
    ///
    /// # Errors
    /// What the system says, or a packed file that is damaged or cut off; what was read before was told.
    pub fn next(&mut self) -> io::Result<Line> {
        let mut searched = 0;
        loop {
            let held = &self.buffer[self.held.clone()];
            if let Some(found) = memchr::memchr(b'\n', &held[searched..]) {
                let line = self.held.start..self.held.start + searched + found;
                self.held.start = line.end + 1;
                return Ok(self.ended_by(line));
            }
            if self.ended {
                let line = std::mem::replace(&mut self.held, 0..0);
                let is_over = line.is_empty() && !self.skipping;
                return Ok(if is_over { Line::End } else { self.ended_by(line) });
            }
            searched = held.len();
            // The last byte may be a carriage return, which is part of the line's end.
            if searched > LONGEST + 1 {
                (self.skipping, searched) = (true, 0);
                self.held.start = self.held.end;
            }
            self.fill()?;
        }
    }

    /// A line's bytes.
    pub fn bytes(&self, line: Range<usize>) -> &[u8] {
        &self.buffer[line]
    }

    /// A line whose end was read.
    fn ended_by(&mut self, line: Range<usize>) -> Line {
        let end = if self.buffer[line.clone()].last() == Some(&b'\r') { line.end - 1 } else { line.end };
        let is_too_long = std::mem::take(&mut self.skipping) || end - line.start > LONGEST;
        if is_too_long { Line::TooLong } else { Line::At(line.start..end) }
    }

    /// Reads more behind what is held.
    fn fill(&mut self) -> io::Result<()> {
        if self.held.end == self.buffer.len() {
            self.buffer.copy_within(self.held.clone(), 0);
            self.held = 0..self.held.len();
            if self.held.end + CHUNK / 2 > self.buffer.len() {
                self.buffer.resize(self.buffer.len() + CHUNK, 0);
            }
        }
        loop {
            match self.inner.read(&mut self.buffer[self.held.end..]) {
                Ok(length) => {
                    self.held.end += length;
                    self.ended = length == 0;
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.ended = true;
                    return Err(error);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Read, Write};

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::{Input, LONGEST, Line};

    /// Tells so many bytes at once.
    struct Slow(Vec<u8>, usize);

    impl Read for Slow {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let length = self.0.len().min(self.1).min(buffer.len());
            buffer[..length].copy_from_slice(&self.0[..length]);
            self.0.drain(..length);
            Ok(length)
        }
    }

    fn lines(bytes: &[u8], step: usize) -> (Vec<String>, Option<io::Error>) {
        let mut input = Input::new(Slow(bytes.to_vec(), step), Default::default()).unwrap();
        let mut all = Vec::new();
        loop {
            match input.next() {
                Ok(Line::At(line)) => all.push(String::from_utf8_lossy(input.bytes(line)).into_owned()),
                Ok(Line::TooLong) => all.push("too long".into()),
                Ok(Line::End) => return (all, None),
                Err(error) => return (all, Some(error)),
            }
        }
    }

    fn packed(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn lines_with_all_kinds_of_ends() {
        for step in [1, 2, 3, 7, 1 << 20] {
            assert_eq!(lines(b"a\nb\r\n\nc", step).0, ["a", "b", "", "c"]);
            assert_eq!(lines(b"\xef\xbb\xbfa\n", step).0, ["a"]);
            assert_eq!(lines(b"", step).0, [""; 0]);
            assert_eq!(lines(b"x", step).0, ["x"]);
            // A log that was rotated and appended to has several parts.
            let parts = [packed(b"a\nb"), packed(b"c\nd\n")].concat();
            assert_eq!(lines(&parts, step).0, ["a", "bc", "d"]);
        }
    }

    #[test]
    fn a_line_that_never_ends_takes_no_memory() {
        let mut long = vec![b'x'; 3 * LONGEST];
        long.extend_from_slice(b"\nb\n");
        long.extend_from_slice(&vec![b'y'; 2 * LONGEST]);
        assert_eq!(lines(&long, 100_000).0, ["too long", "b", "too long"]);
    }

    #[test]
    fn a_line_of_a_mebibyte_is_read_and_one_of_a_byte_more_is_not() {
        for step in [1_000, 64 << 10, 2 << 20] {
            for end in ["\n", "\r\n", ""] {
                for (length, is_read) in
                    [(LONGEST - 1, true), (LONGEST, true), (LONGEST + 1, false), (LONGEST + 50, false)]
                {
                    let mut log = b"a\n".to_vec();
                    log.extend(std::iter::repeat_n(b'x', length));
                    log.extend_from_slice(end.as_bytes());
                    let told = lines(&log, step).0;
                    let expected = if is_read { "x".repeat(length) } else { "too long".to_owned() };
                    assert!(told == ["a".to_owned(), expected], "{step} {end:?} {length}");
                }
            }
        }
    }

    #[test]
    fn a_packed_log_that_was_cut_off_tells_what_it_has() {
        let text: String = (0..100_000_u64).map(|n| format!("line {n} {}\n", n * n % 977)).collect();
        let whole = packed(text.as_bytes());
        let (told, error) = lines(&whole[..whole.len() / 2], 1 << 20);
        assert!(told.len() > 1_000 && told[1_000] == "line 1000 529", "{:?}", told.get(1_000));
        assert_eq!(error.unwrap().kind(), io::ErrorKind::UnexpectedEof);
        let (_, error) = lines(b"\x1f\x8bnot packed", 100);
        assert!(error.is_some());
    }
}
