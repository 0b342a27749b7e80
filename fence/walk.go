package fence

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// The bounds on a message's structure. Beyond them no body is shown.
const (
	maxLevels     = 50
	maxParts      = 1000
	maxPartHeader = 64 << 10
)

// The classes of what is not shown, in the order of DroppedClasses.
const (
	droppedHTML = iota
	droppedAttachment
	droppedMessage
	droppedCalendar
	droppedText
	droppedOther

	droppedClasses
)

// DroppedClasses lists what Rendering.Dropped counts, in its order. The list
// is closed.
var DroppedClasses = []string{
	droppedHTML:       "html",
	droppedAttachment: "attachment",
	droppedMessage:    "message",
	droppedCalendar:   "calendar",
	droppedText:       "text",
	droppedOther:      "other",
}

// leaf is a part without parts: where its body is and how it is read.
type leaf struct {
	start, end int64
	media      mediaType
	encoding   transfer
}

// structure is what a body turned out to be made of.
type structure struct {
	leaves      []leaf
	unshown     []unshown // parts that are read for what they hide
	carriers    carriers  // found on the way
	dropped     [droppedClasses]int
	undecodable bool // an inline text part has an unknown transfer encoding
	encrypted   bool
	overLimits  bool
}

// level is a multipart that is being read.
type level struct {
	boundary    []byte
	standard    mediaType // of a part that names no type
	alternative bool
	chosen      bool // an alternative's text was found
	parts       int
}

// place is where in a part the walk is.
type place uint8

const (
	between  place = iota // preamble, epilogue, or what has no parts: nothing of it is shown
	inHeader              // a part's header
	inBody                // a leaf's body
)

// walker goes through a multipart's body once, line by line, and notes where
// its parts are.
type walker struct {
	lines  rawLines
	found  structure
	aside  passage // the text between two parts
	levels []level
	parts  int
	at     place
	raw    []byte     // the header being read, each line with LF
	size   int        // its octets, each line with CRLF
	header partHeader // of the leaf being read
	start  int64      // where that leaf's body begins
}

// walkBuffer holds any delimiter: a boundary stands in a header field of at
// most 64 KiB.
const walkBuffer = 2 * maxPartHeader

// walk finds the parts of a message whose own header is top. Errors are those
// of reading the body.
func walk(body *io.SectionReader, top partHeader) (structure, error) {
	w := &walker{}
	w.aside = passage{into: &w.found.carriers, kind: kind{sitePreamble, preamble}}
	w.enter(top, 0)
	if len(w.levels) == 0 {
		w.endPart(body.Size())
		return w.found, nil
	}
	whole := io.NewSectionReader(body, 0, body.Size())
	w.lines.in = bufio.NewReaderSize(whole, walkBuffer)
	if err := w.run(); err != nil {
		return structure{}, err
	}
	if w.found.overLimits {
		return withheld(), nil
	}
	return w.found, w.epilogue()
}

// withheld is the structure of a body of which nothing may be said but that
// it is not shown.
func withheld() structure {
	s := structure{overLimits: true}
	s.dropped[droppedOther] = 1
	return s
}

// run reads to the end of the outermost multipart or of the body, or until a
// bound is passed.
func (w *walker) run() error {
	var offset, lineEnd int64
	for len(w.levels) > 0 && !w.found.overLimits {
		line, err := w.lines.next()
		if errors.Is(err, io.EOF) {
			w.endPart(offset)
			w.leave(0)
			return nil
		}
		if err != nil {
			return err
		}
		next := offset + line.size
		if n, closing := w.delimiter(line); n >= 0 {
			// The line end before a delimiter is part of it (RFC 2046, 5.1.1).
			w.endPart(offset - lineEnd)
			w.delimit(n, closing)
		} else if w.at == inHeader {
			w.headerLine(line, next)
		} else if w.at == between {
			w.outside(line)
		}
		offset, lineEnd = next, line.end
	}
	return nil
}

// outside takes a line that belongs to no part.
func (w *walker) outside(line rawLine) {
	w.aside.write(line.text)
	w.found.carriers.octetsOf(sitePreamble, line.text)
}

// epilogue reads what stands behind the outermost multipart.
func (w *walker) epilogue() error {
	for {
		line, err := w.lines.next()
		if errors.Is(err, io.EOF) {
			w.aside.end()
			return nil
		}
		if err != nil {
			return err
		}
		w.outside(line)
	}
}

// delimiter finds the multipart whose delimiter the line is, -1 if it is none.
// The outer ones are asked first: a delimiter ends every part within (RFC
// 2046, 5.1.2).
func (w *walker) delimiter(line rawLine) (n int, closing bool) {
	text, found := bytes.CutPrefix(line.text, []byte("--"))
	if !found || !line.blank {
		return -1, false
	}
	text = bytes.TrimRight(text, " \t")
	for n := range w.levels {
		rest, found := bytes.CutPrefix(text, w.levels[n].boundary)
		if !found {
			continue
		}
		if len(rest) == 0 {
			return n, false
		}
		if string(rest) == "--" {
			return n, true
		}
	}
	return -1, false
}

// delimit begins the next part of multipart n, or closes it.
func (w *walker) delimit(n int, closing bool) {
	w.aside.end()
	if closing {
		w.leave(n)
		return
	}
	w.leave(n + 1)
	w.levels[n].parts++
	w.parts++
	// What is noted of each part is held in memory.
	if w.parts > maxParts {
		w.found.overLimits = true
		return
	}
	w.at, w.raw, w.size = inHeader, w.raw[:0], 0
}

// headerLine takes a line of a part's header; the next one begins at next.
func (w *walker) headerLine(line rawLine, next int64) {
	if line.whole && len(line.text) == 0 {
		w.endHeader(next)
		return
	}
	w.size += len(line.text) + len("\r\n")
	// A part's header is held in memory. A line that the buffer cannot hold
	// is over the limit by itself.
	if w.size > maxPartHeader {
		w.found.overLimits = true
		return
	}
	w.raw = append(append(w.raw, line.text...), '\n')
}

// endHeader ends a part's header; the body behind it begins at start.
func (w *walker) endHeader(start int64) {
	w.found.carriers.header(partFields(w.raw))
	w.enter(parsePartHeader(w.raw, w.levels[len(w.levels)-1].standard), start)
}

// enter goes from a header to the body behind it, which begins at start.
func (w *walker) enter(h partHeader, start int64) {
	w.at, w.header, w.start = inBody, h, start
	if h.odd || !h.inline || h.media.major != "multipart" {
		return
	}
	w.found.encrypted = w.found.encrypted || h.media.minor == "encrypted"
	boundary := h.media.boundary()
	if boundary == "" {
		return
	}
	// Each level's boundary is held in memory and looked for in every line.
	if len(w.levels) == maxLevels {
		w.found.overLimits = true
		return
	}
	standard := plainText
	if h.media.minor == "digest" {
		standard = mailMessage
	}
	w.at = between
	w.levels = append(w.levels, level{
		boundary:    []byte(boundary),
		standard:    standard,
		alternative: h.media.minor == "alternative",
	})
}

// leave closes the multiparts from n inward.
func (w *walker) leave(n int) {
	for _, l := range w.levels[n:] {
		if l.parts == 0 {
			w.found.dropped[droppedOther]++
		}
	}
	w.levels = w.levels[:n]
	w.at = between
}

// endPart ends the part being read, if one is, before end.
func (w *walker) endPart(end int64) {
	switch w.at {
	case between:
		return
	case inHeader:
		// A header without an empty line is all there is of the part.
		w.endHeader(end)
		if w.at == between {
			return
		}
	}
	w.at = between
	w.leaf(w.header, w.start, max(w.start, end))
}

// leaf decides about a part that holds no parts.
func (w *walker) leaf(h partHeader, start, end int64) {
	if h.media.is("application", "pkcs7-mime") && !h.odd {
		kind, _ := h.media.parameters.get("smime-type")
		w.found.encrypted = w.found.encrypted || lowerASCII(kind) != "signed-data"
	}
	one := leaf{start: start, end: end, media: h.media, encoding: h.encoding}
	if class, drop := dropClass(h); drop {
		w.found.dropped[class]++
		w.hide(h, one)
		return
	}
	if h.encoding == unknownTransfer {
		w.found.undecodable = true
		w.found.dropped[droppedOther]++
		return
	}
	if !w.choose() {
		w.found.dropped[droppedText]++
		w.hide(h, one)
		return
	}
	w.found.leaves = append(w.found.leaves, one)
}

// hide notes a part that is not shown, if it can be read.
func (w *walker) hide(h partHeader, one leaf) {
	at, read := siteOf(h.media)
	if read && !h.odd && h.encoding != unknownTransfer {
		w.found.unshown = append(w.found.unshown, unshown{one, at})
	}
}

// choose reports whether a text part is the first in each alternative around
// it, and from then on is.
func (w *walker) choose() bool {
	for _, l := range w.levels {
		if l.alternative && l.chosen {
			return false
		}
	}
	for n := range w.levels {
		w.levels[n].chosen = true
	}
	return true
}

// dropClass is what a part that is not shown counts as.
func dropClass(h partHeader) (class int, drop bool) {
	switch {
	case h.odd:
		return droppedOther, true
	case !h.inline:
		return droppedAttachment, true
	case h.media.is("text", "plain"):
		return 0, false
	case h.media.is("text", "html"):
		return droppedHTML, true
	case h.media.is("text", "calendar"):
		return droppedCalendar, true
	case h.media.major == "message":
		return droppedMessage, true
	}
	return droppedOther, true
}
