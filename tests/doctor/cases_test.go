package doctor

import (
	"net"
	"os"
	"path/filepath"
)

// broken is one wiring that is not sound.
type broken struct {
	name   string
	wiring string // that it is made from, "" is "b"
	want   string // the finding, "" is the name
	also   []string
	spoil  func(s *site)
}

var cases = []broken{
	// Who comes in without stile.
	{name: "smtpd-without-stile", spoil: func(s *site) { s.set("smtpd_milters = inet:127.0.0.1:8891") }},
	{name: "smtpd-override", spoil: func(s *site) {
		s.submission("smtpd_milters=")
	}},
	{name: "submission-of-another-milter", want: "smtpd-override", spoil: func(s *site) {
		s.submission("smtpd_milters=inet:localhost:8891")
	}},
	{name: "parameter-of-a-service", want: "smtpd-override", spoil: func(s *site) {
		// The list is main.cf's, and a name in it means something else here.
		s.submission("stile_milter=inet:localhost:8891", "smtpd_milters=$stile_milter")
	}},
	{name: "behind-postscreen", want: "smtpd-override", spoil: func(s *site) {
		s.postconf("-M", "smtp/inet=smtp inet n - n - 1 postscreen", "smtpd/pass=smtpd pass - - n - - smtpd")
		s.option("smtpd/pass/smtpd_milters=")
	}},
	{name: "back-from-a-content-filter", want: "milters-off", also: []string{"content-filter"}, spoil: func(s *site) {
		s.set("content_filter = smtp:[127.0.0.1]:10024")
		s.postconf("-M", "127.0.0.1:10025/inet=127.0.0.1:10025 inet n - n - - smtpd")
		s.option("127.0.0.1:10025/inet/receive_override_options=no_milters,no_unknown_recipient_checks", "127.0.0.1:10025/inet/content_filter=")
	}},
	{name: "another-socket", want: "smtpd-without-stile", also: []string{"pickup-without-stile"}, spoil: func(s *site) {
		s.set("stile_milter = { unix:stile/other.sock, default_action=tempfail }")
	}},
	{name: "smtpd-under-stress", spoil: func(s *site) { s.set("smtpd_milters = ${stress?{}:{$stile_milter}}") }},
	{name: "pickup-without-stile", spoil: func(s *site) { s.postconf("-X", "non_smtpd_milters") }},
	{name: "cleanup-without-stile", want: "pickup-without-stile", spoil: func(s *site) { s.option("cleanup/unix/non_smtpd_milters=") }},
	{name: "milters-off", spoil: func(s *site) {
		s.submission("receive_override_options=no_address_mappings,no_milters")
	}},
	{name: "milters-off-everywhere", want: "milters-off", spoil: func(s *site) { s.set("receive_override_options = no_milters") }},
	{name: "milters-off-for-sendmail", want: "milters-off", spoil: func(s *site) { s.option("pickup/unix/receive_override_options=no_milters") }},
	{name: "milter-maps", spoil: func(s *site) { s.set("smtpd_milter_maps = inline:{ 192.0.2.1=DISABLE }") }},
	{name: "proxy-filter", spoil: func(s *site) { s.option(s.server() + "/smtpd_proxy_filter=127.0.0.1:10024") }},
	{name: "action-accept", spoil: func(s *site) {
		s.set("smtpd_milters = { unix:stile/stile.sock, default_action=accept }", "non_smtpd_milters = $smtpd_milters")
	}},
	{name: "action-accept-by-default", want: "action-accept", spoil: func(s *site) {
		s.set("stile_milter = unix:stile/stile.sock", "milter_default_action = accept")
	}},
	{name: "action-accept-of-the-gate", wiring: "a", want: "action-accept", spoil: func(s *site) { s.set("stile_action = accept") }},
	{name: "action-quarantine", spoil: func(s *site) { s.set("stile_milter = { unix:stile/stile.sock, default_action = quarantine }") }},
	{name: "action-reject", spoil: func(s *site) {
		s.set("stile_milter = unix:stile/stile.sock", "milter_default_action = reject")
	}},
	{name: "bounces-unfiltered", spoil: func(s *site) { s.postconf("-X", "internal_mail_filter_classes") }},

	// The route to a server of stile's own.
	{name: "address-not-routed", wiring: "a", spoil: func(s *site) {
		s.edit(`address = "errands@agents.example"`, "address = \"errands@agents.example\"\naliases = [\"desk@estate.example\"]")
	}},
	{name: "route-around", wiring: "a", want: "address-not-routed", spoil: func(s *site) {
		s.edit(`address = "errands@agents.example"`, "address = \"errands@agents.example\"\naliases = [\"other@agents.example\"]")
		s.set("transport_maps = inline:{ other@agents.example=virtual: }, regexp:$config_directory/stile_transport")
	}},
	{name: "gate-without-stile", wiring: "a", want: "smtpd-without-stile",
		also:  []string{"pickup-without-stile", "bounces-unfiltered", "alias-unlisted", "bare-newline", "unauth-pipelining", "message-size"},
		spoil: func(s *site) { s.gate("smtpd_milters=") }},
	{name: "gate-fallback", wiring: "a", spoil: func(s *site) { s.option("stile/unix/smtp_fallback_relay=[192.0.2.1]") }},
	{name: "gate-loop", wiring: "a", spoil: func(s *site) { s.gate("content_filter=") }},
	{name: "gate-milters-off", wiring: "a", want: "milters-off", spoil: func(s *site) {
		s.gate("receive_override_options=no_address_mappings,no_milters")
	}},
	{name: "content-filter-delivers", wiring: "a", spoil: func(s *site) { s.set("content_filter = virtual:") }},
	{name: "filter-delivers", wiring: "a", spoil: func(s *site) {
		s.set("header_checks = " + s.table("regexp", "checks", "/^X-Direct:/ FILTER virtual:dummy\n"))
	}},

	// Names of a guarded mailbox that stile does not know.
	{name: "alias-unlisted", spoil: func(s *site) {
		s.set("virtual_alias_maps = " + s.table("texthash", "virtual", "helper@estate.example other@example.org, shopping@estate.example\n"))
	}},
	{name: "alias-of-an-alias", want: "alias-unlisted", spoil: func(s *site) {
		s.set("virtual_alias_maps = inline:{ { one@estate.example = two@estate.example }, { two@estate.example = shop@estate.example } }")
	}},
	{name: "alias-of-local", want: "alias-unlisted", spoil: func(s *site) {
		s.write("aliases", "ops: shopping@estate.example\n")
		s.run("postalias", "-c", s.etc, "hash:"+s.path("aliases"))
		s.set("alias_maps = hash:" + s.path("aliases"))
	}},
	{name: "alias-of-a-file", want: "alias-unlisted", spoil: func(s *site) {
		s.set("alias_maps = " + s.table("texthash", "aliases", "ops "+s.postfix.Dir+"/mail/shopping/\n"))
	}},
	{name: "canonical-recipient", want: "alias-unlisted", spoil: func(s *site) {
		s.set("recipient_canonical_maps = inline:{ old@estate.example=shopping@estate.example }", "recipient_canonical_classes = envelope_recipient")
	}},
	{name: "catch-all", spoil: func(s *site) {
		s.set("virtual_alias_maps = inline:{ @old.example=shopping@estate.example }")
	}},
	{name: "catch-all-local", spoil: func(s *site) { s.set("luser_relay = shopping@estate.example") }},
	{name: "bcc-into-mailbox", spoil: func(s *site) { s.set("always_bcc = shopping@estate.example") }},
	{name: "redirect-into-mailbox", want: "bcc-into-mailbox", spoil: func(s *site) {
		s.set("header_checks = " + s.table("regexp", "checks", "/^X-Agent:/ REDIRECT shopping@estate.example\n"))
	}},
	{name: "notices-into-mailbox", spoil: func(s *site) {
		s.set("notify_classes = protocol", "error_notice_recipient = shopping@estate.example")
	}},
	{name: "mailbox-shared", spoil: func(s *site) {
		mailboxes, err := os.ReadFile(filepath.Join(s.postfix.Dir, "etc", "mailboxes"))
		must(s.t, err)
		s.set("virtual_mailbox_maps = " + s.table("texthash", "mailboxes", string(mailboxes)+"buy@estate.example shopping/\n"))
	}},
	{name: "mailbox-not-routed", wiring: "a", want: "mailbox-shared", spoil: func(s *site) {
		mailboxes, err := os.ReadFile(filepath.Join(s.postfix.Dir, "etc", "mailboxes"))
		must(s.t, err)
		s.set("virtual_mailbox_maps = " + s.table("texthash", "mailboxes", string(mailboxes)+"bot@estate.example agents/\n"))
	}},
	{name: "host-name-unlisted", spoil: func(s *site) {
		s.edit(`"localhost", `, "")
		s.set("local_transport = local:", "local_recipient_maps =", "mydestination = estate.example, mx.estate.example, localhost",
			"virtual_mailbox_domains = agents.example")
		s.postconf("-M", "local/unix=local unix - n n - - local")
	}},
	{name: "delimiter-differs", spoil: func(s *site) { s.set("recipient_delimiter = +-") }},
	{name: "table-unread", spoil: func(s *site) {
		s.set("virtual_alias_maps = " + s.table("regexp", "virtual", "/^x-(.*)@estate\\.example$/ $1@estate.example\n"))
	}},

	// Accounts of this host.
	{name: "key-readable", spoil: func(s *site) { must(s.t, os.Chmod(s.path("seal.key"), 0o644)) }},
	{name: "config-writable", spoil: func(s *site) { must(s.t, os.Chmod(s.path("stile.toml"), 0o666)) }},
	{name: "store-readable", spoil: func(s *site) { s.write("quarantine.db", "") }},
	{name: "evidence-readable", spoil: func(s *site) {
		s.edit("none = true", "recipients = [\"age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p\"]\ndir = \""+s.path("evidence")+"\"")
		must(s.t, os.Mkdir(s.path("evidence"), 0o755))
	}},
	{name: "socket-open", spoil: func(s *site) {
		s.mode(filepath.Dir(s.socket), 0o755)
		s.mode(s.socket, 0o666)
	}},
	{name: "lmtp-open", spoil: func(s *site) { s.lmtp("inet:192.0.2.7:24") }},
	{name: "lmtp-socket-open", want: "lmtp-open", spoil: func(s *site) {
		path := filepath.Join(s.postfix.Dir, "lmtp")
		listener, err := net.Listen("unix", path)
		must(s.t, err)
		s.t.Cleanup(func() { listener.Close() })
		s.mode(path, 0o666)
		s.lmtp("unix:" + path)
	}},

	// Whether mail gets through at all.
	{name: "socket-missing", spoil: func(s *site) { must(s.t, os.Remove(s.socket)) }},
	{name: "socket-unreachable", spoil: func(s *site) { s.mode(s.socket, 0o600) }},
	{name: "socket-folder-unreachable", want: "socket-unreachable", spoil: func(s *site) { s.mode(filepath.Dir(s.socket), 0o700) }},
	{name: "socket-chroot", spoil: func(s *site) {
		s.set("stile_milter = { unix:" + s.socket + ", default_action=tempfail }")
		s.postconf("-F", s.server()+"/chroot=y")
	}},
	{name: "timeout-short", spoil: func(s *site) {
		s.set("stile_milter = { unix:stile/stile.sock, content_timeout=10s, default_action=tempfail }")
	}},
	{name: "timeout-long", spoil: func(s *site) { s.set("stile_milter = unix:stile/stile.sock", "milter_content_timeout = 1h") }},
	{name: "protocol-old", spoil: func(s *site) { s.set("milter_protocol = 2") }},
	{name: "stile-twice", spoil: func(s *site) { s.set("smtpd_milters = $stile_milter, $stile_milter") }},
	{name: "milter-behind", spoil: func(s *site) { s.set("smtpd_milters = $stile_milter, inet:127.0.0.1:8891") }},
	{name: "content-filter", spoil: func(s *site) { s.option(s.server() + "/content_filter=smtp:[127.0.0.1]:10024") }},
	{name: "filter-action", spoil: func(s *site) {
		s.set("smtpd_sender_restrictions = check_sender_access inline:{ { example.net = FILTER smtp:[127.0.0.1]:10024 } }")
	}},
	{name: "stamp-removed", spoil: func(s *site) {
		s.set("milter_header_checks = " + s.table("regexp", "checks", "/^Stile-/ IGNORE\n"))
	}},
	{name: "stamp-removed-on-delivery", want: "stamp-removed", wiring: "a", spoil: func(s *site) {
		s.postconf("-M", "box/unix=box unix - - n - - smtp")
		s.option("box/unix/smtp_header_checks=" + s.table("regexp", "checks", "/^Stile-(Rendering)/ REPLACE X-$1:\n"))
		s.set("stile_delivery = box:[192.0.2.1]")
	}},
	{name: "header-size", spoil: func(s *site) { s.set("header_size_limit = 32768") }},
	{name: "field-edited", spoil: func(s *site) {
		s.set("header_checks = " + s.table("regexp", "checks", "/^Subject:(.*)/ REPLACE Subject: [external]$1\n"))
	}},
	{name: "header-rewrite", spoil: func(s *site) { s.set("remote_header_rewrite_domain = domain.invalid") }},
	{name: "canonical-headers", spoil: func(s *site) { s.set("sender_canonical_maps = inline:{ a@example.org=b@example.org }") }},
	{name: "masquerade", want: "canonical-headers", spoil: func(s *site) { s.set("masquerade_domains = example.org") }},
	{name: "missing-headers", spoil: func(s *site) { s.set("always_add_missing_headers = yes") }},
	{name: "mime-conversion", spoil: func(s *site) {
		// A release without it prints it because something names it.
		s.set("force_mime_input_conversion = yes", "smtpd_banner = $myhostname ESMTP${force_mime_input_conversion?}")
	}},
	{name: "eightbit-off", spoil: func(s *site) { s.option(s.server() + "/smtpd_discard_ehlo_keywords=8bitmime") }},
	{name: "error-limit", spoil: func(s *site) {
		s.edit(`senders =`, "render = \"body\"\nsenders =")
		s.edit("none = true", "recipients = [\"age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p\"]\ndir = \""+s.path("evidence")+"\"")
		s.set("smtpd_hard_error_limit = 5")
	}},
	{name: "soft-bounce", spoil: func(s *site) {
		s.edit(`senders =`, "refused = \"reject\"\nsenders =")
		s.set("soft_bounce = yes")
	}},
	{name: "not-deliverable", spoil: func(s *site) { s.edit(`aliases = ["`, `aliases = ["nobody@estate.example", "`) }},
	{name: "domain-elsewhere", spoil: func(s *site) { s.edit(`aliases = ["`, `aliases = ["shop@other.example", "`) }},
	{name: "mx-elsewhere", spoil: func(s *site) { s.names(nameServer{addr: s.dns.addr, valid: true, mx: "backup.example.net."}) }},
	{name: "resolver-silent", spoil: func(s *site) { s.names(nameServer{addr: s.dns.addr, down: true}) }},
	{name: "clock", spoil: func(s *site) { s.clock = false }},

	// Worth knowing.
	{name: "resolver-open", spoil: func(s *site) { s.names(nameServer{addr: s.dns.addr, mx: s.dns.mx}) }},
	{name: "bare-newline", spoil: func(s *site) { s.set("smtpd_forbid_bare_newline = no") }},
	{name: "unauth-pipelining", spoil: func(s *site) { s.option(s.server() + "/smtpd_forbid_unauth_pipelining=no") }},
	{name: "stray-line-end", spoil: func(s *site) { s.set("cleanup_replace_stray_cr_lf = no") }},
	{name: "message-size", spoil: func(s *site) { s.set("message_size_limit = 0") }},
}

// submission adds a server for users.
func (s *site) submission(options ...string) {
	s.t.Helper()
	s.postconf("-M", "submission/inet=submission inet n - n - - smtpd")
	for _, o := range options {
		s.option("submission/inet/" + o)
	}
}

// gate changes options of the server of wiring a.
func (s *site) gate(options ...string) {
	s.t.Helper()
	for _, o := range options {
		s.option(s.postfix.Gate + "/inet/" + o)
	}
}

// mode changes a mode until the case is over.
func (s *site) mode(path string, mode os.FileMode) {
	s.t.Helper()
	info, err := os.Stat(path)
	must(s.t, err)
	must(s.t, os.Chmod(path, mode))
	s.t.Cleanup(func() {
		if _, err := os.Stat(path); err == nil {
			must(s.t, os.Chmod(path, info.Mode()))
		}
	})
}

// lmtp has the mailboxes delivered by another server.
func (s *site) lmtp(nexthop string) {
	s.t.Helper()
	s.postconf("-M", "lmtp/unix=lmtp unix - - n - - lmtp")
	s.set("virtual_transport = lmtp:" + nexthop)
}

// names has the name server answer otherwise until the case is over.
func (s *site) names(n nameServer) {
	former := *s.dns
	*s.dns = n
	s.t.Cleanup(func() { *s.dns = former })
}
