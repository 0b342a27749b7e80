package main

import (
	"strings"
	"time"

	"stile/tests/corpus"
	"stile/tests/signed"
	"stile/verdict"
)

// host is how a provider's mail looks: its fields, and what it signs.
type host struct {
	name, what string
	fields     []string // below From, To, Subject and Date; "" for Message-ID
	names      string   // h=
	body       string
	keys       corpus.Rendering
	how        func(*signed.Signature)
	also       []signed.Signature
	top        string // what servers on the way put on top
}

const (
	alternative = "--=_b\r\nContent-Type: text/plain; charset=\"UTF-8\"\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\nBring eggs =E2=80=93 two dozen, and milk for the caf=C3=A9 on =\r\nMonday.\r\n\r\nAlice\r\n\r\n" +
		"--=_b\r\nContent-Type: text/html; charset=\"UTF-8\"\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n<div dir=3D\"ltr\">Bring eggs =E2=80=93 two dozen</div>\r\n\r\n--=_b--\r\n"
	typeAlternative = "Content-Type: multipart/alternative; boundary=\"=_b\""
)

// eggs is what an alternative shows, all of it.
func eggs(flags ...verdict.Flag) corpus.Rendering {
	lines := 3
	return corpus.Rendering{
		Flags: flags, Subject: []byte(`"Shopping list"`), BodyLines: &lines, Remarks: &[]string{},
		Contains: []string{"Bring eggs \u2013 two dozen, and milk for the caf\u00e9 on Monday.\n\nAlice"},
	}
}

// hosts are messages in the shape of those that large providers send. All must
// be accepted and shown in full.
func hosts() (all []recipe) {
	unsignedTo := eggs(verdict.ToUnsigned)
	unsignedTo.Remarks = &[]string{"recipient not signed"}
	undated := func(s *signed.Signature) { s.Time = time.Time{} }
	google := signature("1e100.example", "corpus")
	google.Names = strings.Split("to:subject:message-id:date:from:mime-version:x-gm-message-state:from:to:cc:subject:date:message-id:reply-to", ":")
	other := func(domain, names string) signed.Signature {
		s := signature(domain, "corpus")
		s.Names = strings.Split(names, ":")
		return s
	}
	const seal = "ARC-Seal: i=1; a=rsa-sha256; t=1700000000; cv=none; d=list.example; s=corpus; b=AAAA\r\n" +
		"ARC-Message-Signature: i=1; a=rsa-sha256; c=relaxed/relaxed; d=list.example; s=corpus; h=From:Date; bh=AAAA; b=AAAA\r\n" +
		"ARC-Authentication-Results: i=1; mx.list.example 1; spf=pass smtp.mailfrom=example.org; dkim=pass header.d=example.org\r\n"
	for _, h := range []host{
		{
			name: "gmail", what: "Gmail: Content-Type is not signed, names are signed twice",
			fields: []string{"MIME-Version: 1.0", "", typeAlternative, "X-Gm-Message-State: AOJu0Yx1", "X-Google-Smtp-Source: AGHT+IF1"},
			names:  "to:subject:message-id:date:from:mime-version:from:to:cc:subject:date:message-id:reply-to",
			body:   alternative, keys: eggs(verdict.StructureUnsigned),
			how: func(s *signed.Signature) { s.Tags = "x=1700604800; darn=estate.example;" },
			top: "X-Google-DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=1e100.example; s=20230601; h=from:to; bh=AAAA; b=AAAA\r\nX-Received: by 2002:a05:6402:1 with SMTP id a1; Tue, 14 Nov 2023 14:13:20 -0800 (PST)\r\nReceived: by mail-ed1-f41.google.example with SMTP id 4fb4d7f45d1cf; Tue, 14 Nov 2023 14:13:21 -0800 (PST)\r\n",
		},
		{
			name: "workspace", what: "Google Workspace: a domain of its own", fields: []string{"MIME-Version: 1.0", "References: <a@example.org>", "In-Reply-To: <a@example.org>", "", typeAlternative},
			names: "cc:to:subject:message-id:date:from:in-reply-to:references:mime-version:from:to:cc:subject:date:message-id:reply-to",
			body:  alternative, keys: eggs(verdict.StructureUnsigned), also: []signed.Signature{google},
		},
		{
			name: "microsoft-365", what: "Microsoft 365: neither To nor a time in the signature",
			fields: []string{"Thread-Topic: Shopping list", "Thread-Index: AdoXabc=", "", "Accept-Language: en-GB", "Content-Language: en-GB", "X-MS-Has-Attach:", "X-MS-Exchange-SenderADCheck: 1", typeAlternative, "MIME-Version: 1.0"},
			names:  "From:Date:Subject:Message-ID:Content-Type:MIME-Version:X-MS-Exchange-SenderADCheck",
			body:   alternative, keys: unsignedTo, how: undated, top: seal,
		},
		{
			name: "outlook", what: "Outlook.com: as Microsoft 365, another domain's ARC set on top", fields: []string{"", typeAlternative, "X-TMN: [abc]", "X-MS-Exchange-MessageSentRepresentingType: 1", "MIME-Version: 1.0"},
			names: "From:Date:Subject:Message-ID:Content-Type:MIME-Version:X-MS-Exchange-SenderADCheck",
			body:  alternative, keys: unsignedTo, how: undated, top: seal,
		},
		{
			name: "icloud", what: "iCloud: Content-Type is not signed", fields: []string{typeAlternative, "Mime-Version: 1.0 (Mac OS X Mail 16.0 \\(3774.200.91.1.1\\))", "", "X-Mailer: Apple Mail (2.3774.200.91.1.1)"},
			names: "from:message-id:mime-version:subject:date:to", body: alternative, keys: eggs(verdict.StructureUnsigned),
		},
		{
			name: "icloud-older", what: "iCloud, as it was before: Content-Type is signed", fields: []string{typeAlternative, "Mime-Version: 1.0", ""},
			names: "from:Content-Type:Mime-Version:Subject:Message-Id:Date:To", body: alternative, keys: eggs(),
		},
		{
			name: "yahoo", what: "Yahoo: Content-Type is not signed, fields that are not there are", fields: []string{"", "MIME-Version: 1.0", typeAlternative, "X-Mailer: WebService/1.1.21890 YMailNorrin", "Content-Length: 512"},
			names: "Date:From:To:Subject:References:From:Subject:Reply-To", body: alternative, keys: eggs(verdict.StructureUnsigned),
			top: "X-SONIC-DKIM-SIGN: v=1; a=rsa-sha256; c=relaxed/relaxed; d=yahoo.example; s=s2048; h=X-Sonic-MF:Subject; bh=AAAA; b=AAAA\r\nX-YMail-OSG: abc\r\n",
		},
		{
			name: "fastmail", what: "Fastmail: every name is signed once more than it stands, and a second domain signs", fields: []string{"X-ME-Sender: <xms:abc>", "X-ME-Proxy: <xmx:abc>", "Feedback-ID: i1:Fastmail", "User-Agent: Cyrus-JMAP/3.9", "MIME-Version: 1.0", "", "Content-Type: text/plain", "Content-Transfer-Encoding: 7bit"},
			names: "cc:cc:content-transfer-encoding:content-type:content-type:date:date:from:from:in-reply-to:in-reply-to:message-id:mime-version:references:reply-to:reply-to:subject:subject:to:to",
			body:  "Bring eggs.\r\n\r\nAlice\r\n", keys: corpus.Rendering{Subject: []byte(`"Shopping list"`), Contains: []string{"Bring eggs.\n\nAlice"}, Remarks: &[]string{}},
			how:  func(s *signed.Signature) { s.Tags = "x=1700086400;" },
			also: []signed.Signature{other("list.example", "cc:cc:content-type:content-type:date:date:feedback-id:feedback-id:from:from:in-reply-to:message-id:mime-version:reply-to:subject:subject:to:to:x-me-proxy:x-me-sender:x-me-sender:x-sasl-enc")},
		},
		{
			name: "proton", what: "Proton: the text in base64, a long list of names", fields: []string{"", "Feedback-ID: 1:user:proton", "MIME-Version: 1.0", "Content-Type: text/plain; charset=utf-8", "Content-Transfer-Encoding: base64"},
			names: "Date:To:From:Subject:Message-ID:Feedback-ID:From:To:Cc:Date:Subject:Reply-To:Feedback-ID:Message-ID:BIMI-Selector:List-Unsubscribe:List-Unsubscribe-Post",
			body:  "QnJpbmcgZWdncyDigJMgdHdvIGRvemVuLCBhbmQgbWlsayBmb3IgdGhlIGNhZsOpIG9uIE1vbmRh\r\neS4NCg0KQWxpY2UNCg==\r\n", keys: eggs(verdict.StructureUnsigned),
			how: func(s *signed.Signature) { s.Tags = "x=1700259200;" },
		},
		{
			name: "ses", what: "Amazon SES: the domain and the service sign", fields: []string{"MIME-Version: 1.0", typeAlternative, "", "Feedback-ID: 1.eu-west-1.abc=:AmazonSES", "X-SES-Outgoing: 2023.11.14-54.240.0.1"},
			names: "From:To:Subject:MIME-Version:Content-Type:Message-ID:Date", body: alternative, keys: eggs(),
			also: []signed.Signature{other("amazonses.com", "From:To:Subject:MIME-Version:Content-Type:Message-ID:Date:Feedback-ID")},
		},
		{
			name: "sendgrid", what: "SendGrid: the domain and the service sign", fields: []string{"Content-Type: multipart/alternative; boundary==_b", "Mime-Version: 1.0", "", "X-SG-EID: abc", "X-Entity-ID: abc=="},
			names: "content-type:from:mime-version:subject:to:cc:content-type:date:from:subject:to", body: alternative, keys: eggs(),
			also: []signed.Signature{other("sendgrid.info", "content-type:from:mime-version:subject:to:cc:content-type:date:from:subject:to")},
		},
		{
			name: "thunderbird", what: "Thunderbird behind OpenDKIM: a preamble, flowed text, an attachment",
			fields: []string{"", "MIME-Version: 1.0", "User-Agent: Mozilla Thunderbird", "Content-Language: en-GB", "Content-Type: multipart/mixed; boundary=\"------------abc\""},
			names:  "Date:To:From:Subject:From",
			body: "This is a multi-part message in MIME format.\r\n--------------abc\r\nContent-Type: text/plain; charset=UTF-8; format=flowed\r\nContent-Transfer-Encoding: 8bit\r\n\r\nBring eggs \u2013 two dozen, and \r\nmilk.\r\n\r\n-- \r\nAlice\r\n" +
				"--------------abc\r\nContent-Type: application/pdf; name=\"list.pdf\"\r\nContent-Disposition: attachment; filename=\"list.pdf\"\r\nContent-Transfer-Encoding: base64\r\n\r\nJVBERi0=\r\n\r\n--------------abc--\r\n",
			keys: corpus.Rendering{Subject: []byte(`"Shopping list"`), Contains: []string{"Bring eggs \u2013 two dozen, and \nmilk.\n\n-- \nAlice"}, Remarks: &[]string{}, Flags: []verdict.Flag{verdict.StructureUnsigned}},
		},
	} {
		all = append(all, h.recipe())
	}
	return all
}

// recipe makes the host's message. Its mailbox looks at To and Cc.
func (h host) recipe() recipe {
	r := message("accept/host-"+h.name, h.what, "honest mail is accepted and shown in full", func(l *letter) error {
		id := l.fields[4]
		l.fields = append(l.fields[:0], "Date: Tue, 14 Nov 2023 22:13:20 +0000", "From: Alice <alice@example.org>", "To: Shopping <"+corpus.Mailbox+">", "Subject: Shopping list")
		for _, f := range h.fields {
			if f == "" {
				f = id
			}
			l.fields = append(l.fields, f)
		}
		l.body = h.body
		s := &l.signs[0]
		s.Names = strings.Split(h.names, ":")
		if h.how != nil {
			h.how(s)
		}
		return nil
	}, also(h.also...), top(h.top))
	return r.with(corpus.Keys{Policy: "default", Rendering: h.keys})
}

// tongues are texts in other charsets and languages. All must be shown in full.
func tongues() []recipe {
	text := func(name, what, charset, encoding, subject, octets string, subjectShown, shown string) recipe {
		return message("accept/text-"+name, what, "honest mail is accepted and shown in full",
			set("Content-Type", "text/plain; charset="+charset), set("Content-Transfer-Encoding", encoding), set("Subject", subject), body(octets)).
			with(corpus.Keys{Policy: "default", Rendering: corpus.Rendering{Subject: []byte(`"` + subjectShown + `"`), Contains: []string{shown}, Remarks: &[]string{}}})
	}
	const hello = "\u3053\u3093\u306b\u3061\u306f" // konnichiwa
	return []recipe{
		text("iso-2022-jp", "Japanese in ISO-2022-JP", "ISO-2022-JP", "7bit", "=?ISO-2022-JP?B?GyRCJDMkcyRLJEEkTxsoQg==?=", "\x1b$B$3$s$K$A$O\x1b(B, agent\r\n", hello, hello+", agent"),
		text("shift-jis", "Japanese in Shift_JIS", "Shift_JIS", "8bit", "=?Shift_JIS?B?grGC8YLJgr+CzQ==?=", "\x82\xb1\x82\xf1\x82\xc9\x82\xbf\x82\xcd, agent\r\n", hello, hello+", agent"),
		text("shift-jis-broken", "Shift_JIS with half a pair before a letter", "Shift_JIS", "8bit", "x", "a\x82<b\r\n", "x", `a\x{82}<b`),
		text("euc-jp", "Japanese in EUC-JP", "euc-jp", "8bit", "=?euc-jp?B?pLOk86TLpMGkzw==?=", "\xa4\xb3\xa4\xf3\xa4\xcb\xa4\xc1\xa4\xcf, agent\r\n", hello, hello+", agent"),
		text("japanese-utf-8", "Japanese in UTF-8 and base64", "utf-8", "base64", "=?utf-8?B?44GT44KT44Gr44Gh44Gv?=", "44GT44KT44Gr44Gh44GvLCBhZ2VudA==\r\n", hello, hello+", agent"),
		text("latin-1", "French in ISO-8859-1", "iso-8859-1", "8bit", "=?iso-8859-1?Q?caf=E9?=", "\xe0 bient\xf4t, agent\r\n", "caf\u00e9", "\u00e0 bient\u00f4t, agent"),
		text("latin-1-qp", "French in ISO-8859-1 and quoted-printable", "iso-8859-1", "quoted-printable", "=?iso-8859-1?Q?=E0_bient=F4t?=", "=E0 bient=F4t, agent\r\n", "\u00e0 bient\u00f4t", "\u00e0 bient\u00f4t, agent"),
		text("windows-1252", "quotes and a euro in windows-1252", "windows-1252", "quoted-printable", "=?windows-1252?Q?5_=80?=", "=93five =80=94\r\n", "5 \u20ac", "\u201cfive \u20ac\u201d"),
		text("koi8-r", "Russian in KOI8-R", "koi8-r", "8bit", "=?koi8-r?B?8NLJ18XU?=", "\xf0\xd2\xc9\xd7\xc5\xd4, agent\r\n", "\u041f\u0440\u0438\u0432\u0435\u0442", "\u041f\u0440\u0438\u0432\u0435\u0442, agent"),
		text("gb18030", "Chinese in GB18030", "gb18030", "8bit", "=?gb18030?B?xOO6ww==?=", "\xc4\xe3\xba\xc3, agent\r\n", "\u4f60\u597d", "\u4f60\u597d, agent"),
		text("big5", "Chinese in Big5", "big5", "8bit", "=?big5?B?p0Gmbg==?=", "\xa7A\xa6n, agent\r\n", "\u4f60\u597d", "\u4f60\u597d, agent"),
		text("euc-kr", "Korean in EUC-KR", "euc-kr", "8bit", "=?euc-kr?B?vsiz5w==?=", "\xbe\xc8\xb3\xe7, agent\r\n", "\uc548\ub155", "\uc548\ub155, agent"),
		text("arabic", "Arabic in UTF-8", "utf-8", "8bit", "\u0645\u0631\u062d\u0628\u0627", "\u0645\u0631\u062d\u0628\u0627, agent\r\n", "\u0645\u0631\u062d\u0628\u0627", "\u0645\u0631\u062d\u0628\u0627, agent"),
		text("devanagari", "Hindi in UTF-8, with the joiners that it is written with", "utf-8", "8bit", "namaste", "\u0928\u092e\u0938\u094d\u0924\u0947\r\n", "namaste", "\u0928\u092e\u0938\u094d\u0924\u0947"),
		text("emoji", "emoji with joiners, skin tones and a flag of tags", "utf-8", "8bit", "=?utf-8?B?8J+RqOKAjfCfkanigI3wn5Gn?=", "\U0001F44D\U0001F3FD \U0001F468\u200d\U0001F469\u200d\U0001F467 \U0001F3F4\U000E0067\U000E0062\U000E0065\U000E006E\U000E0067\U000E007F \u2764\ufe0f\r\n", "\U0001F468\u200d\U0001F469\u200d\U0001F467", "\U0001F44D\U0001F3FD \U0001F468\u200d\U0001F469\u200d\U0001F467 \U0001F3F4\U000E0067\U000E0062\U000E0065\U000E006E\U000E0067\U000E007F \u2764\ufe0f"),
		text("flowed", "flowed text", "utf-8; format=flowed; delsp=yes", "7bit", "flowed", "A line that goes \r\non, and one \r\n that does not.\r\n>> quoted \r\n-- \r\nAlice\r\n", "flowed", "A line that goes \non, and one \n that does not.\n>> quoted \n-- \nAlice"),
		text("long-subject", "a Subject of several encoded words on several lines", "utf-8", "7bit", "=?utf-8?Q?caf=C3=A9?=\r\n =?utf-8?Q?_au?=\r\n =?utf-8?Q?_lait?= please", "Hello\r\n", "caf\u00e9 au lait please", "Hello"),
		text("dots", "lines that begin with dots", "utf-8", "7bit", "dots", ".\r\n..\r\n.hidden\r\n", "dots", ".\n..\n.hidden"),
		text("long-line", "a line of 998 octets", "utf-8", "7bit", "long", strings.Repeat("x", 998)+"\r\n", "long", strings.Repeat("x", 998)),
	}
}
