//! A stream of words from one tile to others.

/// Words with their times. The last `room` of them are kept in a ring buffer.
pub(super) struct Stream {
    writer: usize,
    latency: u64,
    written: u64,
    hash: u64,
    /// Position of the next word.
    place: usize,
    /// Word `i` and the tick in which it was written, at `i % room`.
    words: Box<[(u64, u32)]>,
    readers: Vec<Reader>,
}

struct Reader {
    tile: usize,
    read: u64,
    /// Position of the next word.
    place: usize,
    /// The tick in which word `i` was read, at `i % room`.
    times: Box<[u64]>,
}

/// The hash of words before the first, and that of words followed by `word`: FNV-1a by words. One
/// word that differs changes it.
const EMPTY: u64 = 0xcbf2_9ce4_8422_2325;

#[inline]
fn followed(hash: u64, word: u32) -> u64 {
    (hash ^ u64::from(word)).wrapping_mul(0x0100_0000_01b3)
}

/// The position after `place`.
#[inline]
fn next(place: usize, room: usize) -> usize {
    if place + 1 == room { 0 } else { place + 1 }
}

impl Stream {
    pub(super) fn new(
        writer: usize,
        readers: impl Iterator<Item = usize>,
        (room, latency): (usize, u64),
    ) -> Self {
        assert!(room > 0, "a stream holds a word");
        let reader = |tile| Reader {
            tile,
            read: 0,
            place: 0,
            times: vec![0; room].into(),
        };
        Self {
            writer,
            latency,
            written: 0,
            hash: EMPTY,
            place: 0,
            words: vec![(0, 0); room].into(),
            readers: readers.map(reader).collect(),
        }
    }

    pub(super) fn set_latency(&mut self, latency: u64) {
        self.latency = latency;
    }

    pub(super) fn writer(&self) -> usize {
        self.writer
    }

    pub(super) fn readers(&self) -> impl Iterator<Item = usize> + '_ {
        self.readers.iter().map(|reader| reader.tile)
    }

    pub(super) fn written(&self) -> u64 {
        self.written
    }

    /// Hash of all words so far.
    pub(super) fn hash(&self) -> u64 {
        self.hash
    }

    /// The tick from which the next word can be read, or `None` if it has not been written.
    #[inline]
    pub(super) fn readable(&self, reader: usize) -> Option<u64> {
        let reader = &self.readers[reader];
        (reader.read < self.written).then(|| self.words[reader.place].0 + self.latency)
    }

    /// The tick from which there is room for the next word, or `None` if readers have not made room
    /// yet.
    #[inline]
    pub(super) fn writable(&self) -> Option<u64> {
        let Some(earlier) = self.written.checked_sub(self.words.len() as u64) else {
            return Some(0);
        };
        // The word whose reading makes room stood at the position of the next one.
        self.readers.iter().try_fold(0, |time, reader| {
            (earlier < reader.read).then(|| time.max(reader.times[self.place]))
        })
    }

    #[inline]
    pub(super) fn read(&mut self, reader: usize, time: u64) -> u32 {
        let reader = &mut self.readers[reader];
        let place = reader.place;
        reader.times[place] = time;
        reader.read += 1;
        reader.place = next(place, self.words.len());
        self.words[place].1
    }

    #[inline]
    pub(super) fn write(&mut self, time: u64, word: u32) {
        self.words[self.place] = (time, word);
        self.place = next(self.place, self.words.len());
        self.written += 1;
        self.hash = followed(self.hash, word);
    }
}
