//! Server-sent events, as the HTML standard describes them.

/// An event of a stream.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Event {
    pub(crate) name: String,
    pub(crate) data: String,
}

/// What was sent is longer than any event: the stream is useless.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooLong;

/// Parses a stream of events. It holds at most one line and the data of one event.
pub(crate) struct EventParser {
    longest: usize,
    line: Vec<u8>,
    event: Event,
    has_data: bool,
    after_cr: bool,
}

impl EventParser {
    /// Bounds a line, and the data of an event, in bytes.
    pub(crate) fn new(longest: usize) -> Self {
        Self { longest, line: Vec::new(), event: Event::default(), has_data: false, after_cr: false }
    }

    /// Takes a piece of the stream, and returns the events that it completes.
    pub(crate) fn push(&mut self, piece: &[u8]) -> Result<Vec<Event>, TooLong> {
        let mut events = Vec::new();
        for &byte in piece {
            let is_second_of_crlf = byte == b'\n' && self.after_cr;
            self.after_cr = byte == b'\r';
            match byte {
                _ if is_second_of_crlf => {}
                b'\n' | b'\r' => events.extend(self.take_line()?),
                _ if self.line.len() >= self.longest => return Err(TooLong),
                _ => self.line.push(byte),
            }
        }
        Ok(events)
    }

    fn take_line(&mut self) -> Result<Option<Event>, TooLong> {
        let line = std::mem::take(&mut self.line);
        let line = String::from_utf8_lossy(&line);
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            return Ok(std::mem::take(&mut self.has_data).then_some(event));
        }
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => self.event.name = value.to_owned(),
            "data" => self.add_data(value),
            _ => {}
        }
        if self.event.data.len() > self.longest { Err(TooLong) } else { Ok(None) }
    }

    fn add_data(&mut self, value: &str) {
        if self.has_data {
            self.event.data.push('\n');
        }
        self.event.data.push_str(value);
        self.has_data = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(name: &str, data: &str) -> Event {
        Event { name: name.into(), data: data.into() }
    }

    #[test]
    fn events_are_parsed_wherever_a_piece_ends() {
        let text = ": comment\r\nevent: a\r\ndata: 1\r\ndata:2\r\n\r\nid: 7\ndata\n\ndata: é\r\revent: lost\n\n";
        let want = vec![event("a", "1\n2"), event("", ""), event("", "é")];
        for size in [1, 2, 3, 7, 1000] {
            let mut parser = EventParser::new(100);
            let got: Vec<_> = text.as_bytes().chunks(size).flat_map(|piece| parser.push(piece).unwrap()).collect();
            assert_eq!(got, want, "{size}");
        }
    }

    #[test]
    fn what_is_too_long_ends_the_stream() {
        assert_eq!(EventParser::new(10).push(b"data: 0123456789"), Err(TooLong));
        let mut parser = EventParser::new(10);
        assert_eq!(parser.push(b"data: 0123\ndata: 0123\ndata: 0123\n"), Err(TooLong));
    }
}
