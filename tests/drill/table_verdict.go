package main

// twelve are the cuts that this drill began with, each missed by a check of
// stile drill, which runs on the installed binary.
var twelve = []row{
	{code: "no-sender-list", file: "verdict/judge.go", piece: `!listed`, with: "false", test: "cmd/stile TestDrill/2"},
	{code: "no-signature-check", file: "verdict/prove.go", piece: `s.tried, s.result = true, c.verify(ctx, s)`,
		with: `s.tried, s.result = true, verified`, test: "cmd/stile TestDrill/5"},
	{code: "no-alignment", file: "verdict/signature.go", piece: `!alignedDomain(tags, domain)`, with: "false", test: "cmd/stile TestDrill/4"},
	{code: "length-allowed", file: "verdict/judge.go", piece: `keep(left, func(s *signature) bool { return !s.hasLength() })`,
		with: "left", test: "cmd/stile TestDrill/7"},
	{code: "no-from-count", file: "verdict/judge.go", piece: `len(indexes(header, "From")) != 1`, with: "false", test: "cmd/stile TestDrill/8"},
	{code: "no-address-count", file: "verdict/judge.go", piece: `!holdsOne(value)`, with: "false", test: "cmd/stile TestDrill/9"},
	{code: "refused-shown", file: "verdict/judge.go", piece: `if v.reason = c.judgeSender(p, listed); v.reason != "" {
		return v
	}`, with: `if v.reason = c.judgeSender(p, listed); v.reason != "" {
			all := coverage{fields: make([]bool, len(c.message.Header))}
			for i := range all.fields { all.fields[i] = true }
			v.accepted = c.accept(c.from, &signature{cover: all})
			return v
		}`, test: "cmd/stile TestDrill/10"},
	{code: "address-not-reduced", file: "verdict/address.go", piece: `!plain(c.address)`, with: "false", test: "cmd/stile TestDrill/11"},
	{code: "fixed-nonce", file: "fence/sheet.go", piece: `nonce := hex.EncodeToString(octets[:])`, with: `nonce = "0123456789abcdef"`, test: "cmd/stile TestDrill/13"},
	{code: "no-prefix", file: "fence/remark.go", piece: `out = append(out, textPrefix...)`, with: "", test: "cmd/stile TestDrill/14"},
	{code: "no-quote-length", file: "fence/parse.go", piece: `quote = strings.TrimSpace(quote)`,
		with: `if quote = strings.TrimSpace(quote); utf8.RuneCountInString(quote) < minQuote { return strings.Contains(f.Text(), quote) }`, test: "cmd/stile TestDrill/18"},
	{code: "no-quote-check", file: "fence/parse.go", piece: `strings.Contains(f.Subject, quote)`, with: "true", test: "cmd/stile TestDrill/17"},
}

var verdictRows = []row{
	{code: "malformed-header", file: "verdict/header.go", piece: `v[i] < ' ' && v[i] != '\t'`, with: "false"},
	{code: "malformed-header", file: "verdict/header.go", piece: `v[i] == 127`, with: "false"},
	{code: "malformed-header", file: "verdict/header.go", piece: `strings.Trim(l, " \t") == ""`, with: "false"},
	{code: "duplicate-field", file: "verdict/header.go", piece: `Relaxed(header[i].Value) != first`, with: "false"},
	{code: "from-syntax", file: "verdict/address.go", piece: `dotAtom(local)`, with: "true", test: "verdict TestSenders"},
	{code: "from-syntax", file: "verdict/address.go", piece: `strings.Contains(domain, ".")`, with: "true"},
	{code: "from-syntax", file: "verdict/address.go", piece: `validDomain(domain)`, with: "true"},
	{code: "from-syntax", file: "verdict/address.go", piece: "!quoted && strings.IndexByte(`@,;:<>()[]\\`, s[i]) >= 0", with: "false"},
	{code: "from-syntax", file: "verdict/address.go", piece: `!quoted && utf8.ValidString(s)`, with: "true", test: "verdict TestEachValidatorByItself"},
	{code: "from-syntax", file: "verdict/address.go", piece: `return utf8.ValidString(s)`, with: "return true"},
	{code: "automatic", file: "verdict/judge.go", piece: `each(header, "Auto-Submitted", is("auto-replied"))`, with: "false"},
	{code: "automatic", file: "verdict/judge.go", piece: `each(header, "Precedence", is("auto_reply"))`, with: "false"},
	{code: "automatic", file: "verdict/judge.go", piece: `each(header, "X-Autoreply", isNot("no"))`, with: "false"},
	{code: "automatic", file: "verdict/judge.go", piece: `each(header, "X-Autorespond", isNot("no"))`, with: "false"},
	{code: "automatic", file: "verdict/judge.go", piece: `strings.Join(strings.Fields(v), "") == "multipart/report"`, with: "false"},
	{code: "automatic", file: "verdict/judge.go", piece: `c.message.NullSender && each(header, "Auto-Submitted", isNot("no"))`, with: "false"},
	{code: "misaligned", file: "verdict/signature.go", piece: `!alignedDomain(tags, domain)`, with: "false"},
	{code: "length-tag", file: "verdict/judge.go", piece: `keep(left, func(s *signature) bool { return !s.hasLength() })`, with: "left"},
	{code: "not-addressed", file: "verdict/judge.go", piece: `keep(left, p.addressed(c.message.Header))`, with: "left"},
	{code: "not-addressed", file: "verdict/judge.go", piece: `p.Addressed == AddressedSigned && (s.dated || s.brokenTime())`, with: "true"},
	{code: "not-addressed", file: "verdict/judge.go", piece: `to && inTo || cc && inCc`, with: "inTo || inCc"},
	{code: "stale", file: "verdict/judge.go", piece: `keep(left, func(s *signature) bool { return p.MaxAge == 0 || s.fresh(c.env.Now, p.MaxAge) })`, with: "left"},
	{code: "stale", file: "verdict/signature.go", piece: `now.Sub(s.time) <= maxAge`, with: "true"},
	{code: "stale", file: "verdict/signature.go", piece: `s.time.Sub(now) <= ahead`, with: "true"},
	{code: "bad-signature", file: "verdict/signature.go", piece: `s.strict.auidDomain == domain || strings.HasSuffix(s.strict.auidDomain, "."+domain)`, with: "true"},
	{code: "bad-signature", file: "verdict/signature.go", piece: `len(keyName(s, domain)) <= 253`, with: "true"},
	{code: "bad-signature", file: "verdict/signature.go", piece: `!signed || until >= at`, with: "true"},
	{code: "bad-signature", file: "verdict/signature.go", piece: `known(header) && known(body)`, with: "true"},
	{code: "bad-signature", file: "verdict/taglist.go", piece: `base64.StdEncoding.Strict()`, with: "base64.StdEncoding"},
	{code: "bad-signature", file: "verdict/coverage.go", piece: `len(at) == 0 && c.named[lowerASCII(name)]`, with: "true"},
	{code: "bad-key", file: "verdict/key.go", piece: `len(data) == ed25519.PublicKeySize`, with: "true"},
	{code: "replayed", file: "verdict/repeat.go", piece: `c.proves(ctx, s, a)`, with: "false"},
	{code: "replayed", file: "verdict/repeat.go", piece: `!passing(f)`, with: "false"},
	{code: "reduced", file: "verdict/address.go", piece: `hyphens <= 1`, with: "true"},
	{code: "united-coverage", file: "verdict/coverage.go", piece: `c.fields[i] && o.fields[i]`, with: "c.fields[i]"},
}
