//! The few messages of Perfetto's trace format that a timeline needs, written as bytes.
//!
//! # Source
//! `protos/perfetto/trace/perfetto_trace.proto` of Perfetto. All numbers of fields are from this
//! file.

/// A message under construction: encoded fields one after the other.
#[derive(Default)]
pub(super) struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    /// Appends a field with an unsigned integer.
    pub(super) fn number(mut self, field: u64, value: u64) -> Self {
        self.varint(field << 3);
        self.varint(value);
        self
    }

    /// Appends a field with a text.
    pub(super) fn text(self, field: u64, value: &str) -> Self {
        self.bytes(field, value.as_bytes())
    }

    /// Appends a field with a message.
    pub(super) fn message(self, field: u64, value: &Self) -> Self {
        self.bytes(field, &value.0)
    }

    fn bytes(mut self, field: u64, value: &[u8]) -> Self {
        self.varint((field << 3) | 2);
        self.varint(value.len() as u64);
        self.0.extend_from_slice(value);
        self
    }
}

/// A trace under construction: a list of packets.
#[derive(Default)]
pub(super) struct Packets(Message);

/// Number of the sequence to which all packets belong.
const SEQUENCE: u64 = 1;

impl Packets {
    /// Returns the bytes of the trace.
    pub(super) fn finish(self) -> Vec<u8> {
        self.0.0
    }

    /// Appends a `Trace.packet`, with its `TracePacket.trusted_packet_sequence_id`.
    fn packet(&mut self, packet: Message) {
        let packet = packet.number(10, SEQUENCE);
        let whole = std::mem::take(&mut self.0);
        self.0 = whole.message(1, &packet);
    }

    /// Declares texts to which events refer by numbers from 1 on: categories, names, and names of
    /// annotations.
    pub(super) fn interned(&mut self, categories: &[String], names: &[String], notes: &[&str]) {
        let entry =
            |iid: usize, name: &str| Message::default().number(1, iid as u64 + 1).text(2, name);
        let mut data = Message::default();
        for (iid, name) in categories.iter().enumerate() {
            data = data.message(1, &entry(iid, name));
        }
        for (iid, name) in names.iter().enumerate() {
            data = data.message(2, &entry(iid, name));
        }
        for (iid, name) in notes.iter().enumerate() {
            data = data.message(3, &entry(iid, name));
        }
        // SEQ_INCREMENTAL_STATE_CLEARED: this packet declares all names for the packets after it.
        self.packet(Message::default().number(13, 1).message(12, &data));
    }

    /// Declares a track. The viewer shows tracks of one parent in the order of their ranks.
    pub(super) fn track(&mut self, uuid: u64, name: &str, (parent, rank): (Option<u64>, u64)) {
        self.descriptor(uuid, name, (parent, rank), None);
    }

    /// Declares a track of numbers with a unit.
    pub(super) fn counter(&mut self, uuid: u64, name: &str, unit: &str) {
        let counter = Message::default().text(6, unit);
        self.descriptor(uuid, name, (None, 0), Some(counter));
    }

    fn descriptor(
        &mut self,
        uuid: u64,
        name: &str,
        (parent, rank): (Option<u64>, u64),
        counter: Option<Message>,
    ) {
        let mut track = Message::default().number(1, uuid).text(2, name);
        if let Some(parent) = parent {
            track = track.number(5, parent);
        }
        if let Some(counter) = counter {
            track = track.message(8, &counter);
        }
        // ChildTracksOrdering.EXPLICIT.
        track = track.number(11, 3).number(12, rank);
        self.packet(Message::default().message(60, &track));
    }

    /// Appends an event of a track: `TrackEvent`. Times are nanoseconds.
    fn event(&mut self, time: u64, event: &Message) {
        // SEQ_NEEDS_INCREMENTAL_STATE: names are interned.
        self.packet(
            Message::default()
                .number(8, time)
                .number(13, 2)
                .message(11, event),
        );
    }

    /// Begins a slice. `category`, `name` and annotations are numbers from 1 on.
    pub(super) fn begin(
        &mut self,
        (track, time): (u64, u64),
        (category, name): (u64, u64),
        notes: impl Iterator<Item = (u64, u64)>,
    ) {
        let mut event = Message::default().number(3, category);
        for (note, value) in notes {
            event = event.message(4, &Message::default().number(1, note).number(3, value));
        }
        // TYPE_SLICE_BEGIN.
        let event = event.number(9, 1).number(10, name).number(11, track);
        self.event(time, &event);
    }

    /// Ends the latest slice of a track that has begun.
    pub(super) fn end(&mut self, track: u64, time: u64) {
        // TYPE_SLICE_END.
        self.event(time, &Message::default().number(9, 2).number(11, track));
    }

    /// Sets the value of a counter from a time on.
    pub(super) fn value(&mut self, track: u64, time: u64, value: u64) {
        // TYPE_COUNTER.
        let event = Message::default()
            .number(9, 4)
            .number(11, track)
            .number(30, value);
        self.event(time, &event);
    }
}
