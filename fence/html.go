package fence

import (
	"bytes"
	"errors"
	"io"

	"golang.org/x/net/html"
)

// maxToken bounds what is held of an HTML part. A start tag that is longer is
// passed over, any other token comes in pieces.
const maxToken = 256 << 10

// htmlReader goes through an HTML part token by token. It builds no tree: an
// element that is hidden ends at the end tag that its start tags and end tags
// of that name add up to.
type htmlReader struct {
	into   *carriers
	hidden passage // the text of the hidden element being read
	name   []byte  // of that element
	depth  int     // how many of that name are open; 0: no element is hidden
}

// html counts comments, the text of elements that are hidden, and the text of
// attributes.
func (c *carriers) html(in io.Reader) error {
	r := htmlReader{into: c, hidden: passage{into: c, kind: kind{siteHTML, hiddenStyle}}}
	for {
		z := html.NewTokenizer(in)
		z.SetMaxBuf(maxToken)
		for t := z.Next(); t != html.ErrorToken; t = z.Next() {
			r.token(z, t)
		}
		if err := z.Err(); !errors.Is(err, html.ErrBufferExceeded) {
			r.hidden.end()
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return err
		}
		in = io.MultiReader(bytes.NewReader(bytes.Clone(z.Buffered())), in)
	}
}

func (r *htmlReader) token(z *html.Tokenizer, t html.TokenType) {
	switch t {
	case html.TextToken:
		text := z.Text()
		r.into.octetsOf(siteHTML, text)
		if r.depth > 0 {
			r.hidden.write(text)
		}
	case html.CommentToken:
		r.into.text(kind{siteHTML, htmlComment}, z.Text())
	case html.StartTagToken, html.SelfClosingTagToken:
		r.start(z)
	case html.EndTagToken:
		if name, _ := z.TagName(); r.depth > 0 && bytes.Equal(name, r.name) {
			r.close()
		}
	}
}

// attributeTexts are the attributes that are text for a person and stand in the
// page of nobody who sees the element itself.
var attributeTexts = map[string]bool{
	"alt": true, "title": true, "summary": true, "placeholder": true, "aria-label": true, "aria-description": true,
}

// neverShown are the elements of which no reader of mail shows the text.
var neverShown = map[string]bool{
	"script": true, "template": true, "iframe": true, "noembed": true, "noframes": true,
}

// voidElements have no text and no end tag (HTML, 13.1.2).
var voidElements = map[string]bool{
	"area": true, "base": true, "br": true, "col": true, "embed": true, "hr": true, "img": true,
	"input": true, "link": true, "meta": true, "source": true, "track": true, "wbr": true,
}

// endsItself are the elements that the next one of their name ends (HTML,
// 13.1.2.4).
var endsItself = map[string]bool{
	"p": true, "li": true, "dt": true, "dd": true, "tr": true, "td": true, "th": true, "option": true,
}

func (r *htmlReader) start(z *html.Tokenizer) {
	name, more := z.TagName()
	// Without scripts, and no mail has them, it is an element like others.
	if string(name) == "noscript" {
		z.NextIsNotRawText()
	}
	hides := neverShown[string(name)]
	var key, value []byte
	for more {
		key, value, more = z.TagAttr()
		switch {
		case string(key) == "style":
			hides = hidesText(value) || hides
		case string(key) == "hidden":
			hides = true
		case attributeTexts[string(key)]:
			r.into.text(kind{siteHTML, altText}, value)
		}
	}
	if voidElements[string(name)] {
		return
	}
	if r.depth > 0 && bytes.Equal(name, r.name) {
		if !endsItself[string(name)] {
			r.depth++
			return
		}
		r.close()
	}
	if r.depth == 0 && hides {
		r.name, r.depth = append(r.name[:0], name...), 1
	}
}

// close ends one of the elements of the hidden one's name.
func (r *htmlReader) close() {
	r.depth--
	if r.depth == 0 {
		r.hidden.end()
	}
}
