//! Files of a project that hold no credential, though they look like it.

use std::fmt::Write as _;

use super::{Draw, SecretCase};

/// One file for each kind of look-alike, drawn with `seed`.
pub fn look_alikes(seed: u64) -> Vec<SecretCase> {
    let mut cases = hashes(&mut Draw::new(seed + 10));
    cases.extend(placeholders());
    cases.extend(code());
    cases.extend(words());
    cases
}

fn hashes(draw: &mut Draw) -> Vec<SecretCase> {
    let case = SecretCase::alike;
    vec![
        case(
            "uuid",
            "src/ids.ts",
            &format!(
                "export const TENANT = \"{}\";\nexport const requestId = \"{}\";\n",
                draw.uuid(),
                draw.uuid()
            ),
        ),
        case("git commit", "CHANGES.md", &format!("- fixed in {} and {}\n", draw.hex(40), draw.hex(7))),
        case(
            "submodule commit",
            "vendor.diff",
            &format!("-Subproject commit {}\n+Subproject commit {}\n", draw.hex(40), draw.hex(40)),
        ),
        case(
            "npm lock",
            "web/package-lock.json",
            &format!(
                "{{\"node_modules/jsonwebtoken\": {{\"version\": \"9.0.2\", \"integrity\": \"sha512-{}==\"}}}}\n",
                draw.base64(86)
            ),
        ),
        case(
            "cargo lock",
            "Cargo.lock",
            &format!(
                "[[package]]\nname = \"secrecy\"\nversion = \"0.10.3\"\nchecksum = \"{}\"\n",
                draw.hex(64)
            ),
        ),
        case("go sum", "go.sum", &format!("github.com/golang-jwt/jwt/v5 v5.2.1 h1:{}=\n", draw.base64(43))),
        case(
            "yarn lock",
            "yarn.lock",
            &format!(
                "token-types@^5.0.0:\n  resolved \"https://registry.yarnpkg.com/token-types/-/token-types-5.0.1.tgz#{}\"\n",
                draw.hex(40)
            ),
        ),
        case(
            "poetry lock",
            "poetry.lock",
            &format!(
                "[[package]]\nname = \"pyjwt\"\nfiles = [{{file = \"pyjwt.whl\", hash = \"sha256:{}\"}}]\n",
                draw.hex(64)
            ),
        ),
        case(
            "terraform lock",
            ".terraform.lock.hcl",
            &format!("  hashes = [\n    \"h1:{}=\",\n    \"zh:{}\",\n  ]\n", draw.base64(43), draw.hex(64)),
        ),
        case("image digest", "Dockerfile", &format!("FROM debian@sha256:{}\n", draw.hex(64))),
        case(
            "pinned action",
            ".github/workflows/x.yml",
            &format!("    - uses: actions/checkout@{} # v4\n", draw.hex(40)),
        ),
        case(
            "subresource integrity",
            "index.html",
            &format!(
                "<script src=\"app.js\" integrity=\"sha384-{}\" crossorigin></script>\n",
                draw.base64(64)
            ),
        ),
        case(
            "base64 image",
            "style.css",
            &format!(
                ".logo {{ background: url(data:image/png;base64,iVBORw0KGgo{}=); }}\n",
                draw.base64(900)
            ),
        ),
        case(
            "base64 font",
            "font.scss",
            &format!(
                "@font-face {{ src: url('data:font/woff2;base64,d09GMgABAAAA{}'); }}\n",
                draw.base64(1200)
            ),
        ),
        case(
            "certificate",
            "certs/ca.pem",
            &format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", draw.lines(12)),
        ),
        case(
            "public key",
            "certs/key.pub",
            &format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", draw.lines(6)),
        ),
        case(
            "ssh public key",
            "authorized_keys",
            &format!("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{} ann@host\n", draw.base64(43)),
        ),
        case(
            "known host",
            "known_hosts",
            &format!("git.acme.dev ssh-rsa AAAAB3NzaC1yc2E{}\n", draw.base64(360)),
        ),
        case(
            "etag",
            "http.log",
            &format!(
                "< etag: \"{}\"\n< x-request-id: {}\n< x-amz-id-2: {}=\n",
                draw.hex(32),
                draw.uuid(),
                draw.base64(75)
            ),
        ),
        case(
            "trace",
            "trace.log",
            &format!("traceparent=00-{}-{}-01 span_id={}\n", draw.hex(32), draw.hex(16), draw.hex(16)),
        ),
        case(
            "checksum file",
            "SHA256SUMS",
            &format!("{}  tokenizer.bin\n{}  passwords.md\n", draw.hex(64), draw.hex(64)),
        ),
        case("minified javascript", "dist/app.min.js", &minified(draw)),
        case(
            "source map",
            "dist/app.js.map",
            &format!("{{\"version\":3,\"mappings\":\"{}\"}}\n", "AAAA,SAASA,GAAGC,KAAKC,QAAQ;".repeat(40)),
        ),
        case(
            "aws identifiers",
            "arn.tf",
            &format!(
                "role = \"arn:aws:iam::{}:role/deploy\"\nsubnet = \"subnet-{}\"\nami = \"ami-{}\"\n",
                draw.digits(12),
                draw.hex(17),
                draw.hex(17)
            ),
        ),
        case(
            "ethereum address",
            "contract.ts",
            &format!("const token = new Contract(\"0x{}\", abi);\n", draw.hex(40)),
        ),
        case(
            "password hash",
            "shadow.txt",
            &format!("root:$6$rounds=5000${}:19000:0:99999:7:::\n", draw.alnum(16)),
        ),
        case("colours", "theme.toml", "token = \"#a1b2c3\"\nkeyword = \"#ff00aa\"\nsecret = \"bold\"\n"),
    ]
}

fn minified(draw: &mut Draw) -> String {
    let mut text = String::new();
    for _ in 0..60 {
        let (a, b, c) = (draw.letters(1), draw.letters(2), draw.digits(3));
        let _ = write!(
            text,
            "function {a}(e,t){{var n=t.token,r=e.password||\"\",{b}=n.key={c};return r.secret=n?\"a\"+{b}:null}}"
        );
    }
    text + "\n"
}

fn placeholders() -> Vec<SecretCase> {
    let case = SecretCase::alike;
    vec![
        case(
            "angle brackets",
            "README.md",
            "export OPENAI_API_KEY=<your-openai-key>\nexport GITHUB_TOKEN=<token>\n",
        ),
        case("your key", "example.env", "API_KEY=your-api-key-here-123\nSECRET_KEY=your_secret_key_2024\n"),
        case(
            "changeme",
            "compose.yml",
            "    environment:\n      POSTGRES_PASSWORD: changeme123\n      ADMIN_PASSWORD: change-me-1\n",
        ),
        case(
            "shell variable",
            "run.sh",
            "export DB_PASSWORD=\"${DB_PASSWORD:?}\"\ncurl -u \"$USER:$PASS1\" -H \"Authorization: Bearer $TOKEN2\" x\n",
        ),
        case(
            "actions secret",
            "ci.yml",
            "      token: ${{ secrets.GITHUB_TOKEN }}\n      password: ${{ secrets.DOCKER_PASSWORD_2 }}\n",
        ),
        case(
            "template",
            "chart.yaml",
            "password: {{ .Values.auth.password1 | quote }}\ntoken: \"{{ lookup('env', 'TOKEN_V2') }}\"\n",
        ),
        case(
            "environment in code",
            "env.ts",
            "const apiKey = process.env.API_KEY_V2;\nconst secret = process.env[\"APP_SECRET_1\"] ?? \"\";\n",
        ),
        case(
            "environment in python",
            "env.py",
            "password = os.environ[\"DB_PASSWORD2\"]\ntoken = os.getenv(\"API_TOKEN_V1\")\n",
        ),
        case(
            "terraform variable",
            "main.tf",
            "  password = var.db_password_2\n  token    = data.vault_generic_secret.ci.data[\"token1\"]\n",
        ),
        case(
            "aws example",
            "aws.md",
            &format!(
                "    aws_access_key_id = {}{}\n    aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY\n",
                "AKIA", "IOSFODNN7EXAMPLE"
            ),
        ),
        case(
            "crosses",
            "docs/token.md",
            &format!(
                "Set `GITHUB_TOKEN={}{}` and `SLACK={}{}`.\n",
                "ghp_",
                "x".repeat(36),
                "xoxb-",
                "xxxx-xxxx-xxxx-xxxx"
            ),
        ),
        case(
            "counting",
            "fixtures/key.json",
            &format!("{{\"api_key\": \"{}\"}}\n", "abcdefghijklmnopqrstuvwxyz0123456789"),
        ),
        case(
            "zeros",
            "fixtures/zero.py",
            &format!("TOKEN = \"{}{}\"\nKEY = \"{}\"\n", "ghp_", "0".repeat(36), "0".repeat(64)),
        ),
        case("dots", "slack.md", "Use a token like `xoxb-...` or `sk-ant-api03-...` here.\n"),
        case("redacted", "audit.log", "login user=ann password=[redacted] token=*** key=REDACTED1\n"),
        case(
            "prefix alone",
            "src/shapes.rs",
            &format!("const PREFIXES: [&str; 3] = [\"{}\", \"{}\", \"{}\"];\n", "ghp_", "sk-ant-", "glpat-"),
        ),
        case(
            "pattern",
            "rules.yaml",
            &format!("regex: '{}[0-9a-zA-Z]{{36}}'\nsecret: 'AKIA[0-9A-Z]{{16}}'\n", "ghp_"),
        ),
        case(
            "key marks in code",
            "pem.py",
            "if text.startswith(\"-----BEGIN RSA PRIVATE KEY-----\"):\n    body = text.split(\"-----END RSA PRIVATE KEY-----\")[0]\n    return decode_the_body_of_the_private_key(body)\n",
        ),
        case(
            "example address",
            "db.md",
            "DATABASE_URL=postgres://user:password@localhost:5432/app\nREDIS=redis://:secret@redis:6379\n",
        ),
        case(
            "address with variables",
            "db.sh",
            "psql \"postgres://$DB_USER:$DB_PASS@$DB_HOST/app\"\ngit clone https://${USER}:${TOKEN}@github.com/acme/app\n",
        ),
        case(
            "development database",
            "docker-compose.yml",
            "DATABASE_URL: postgres://postgres:postgres@db:5432/postgres\nAMQP: amqp://guest:guest@mq:5672\n",
        ),
        case(
            "test fixture",
            "tests/login.rs",
            "let form = Form { user: \"ann\", password: \"test1234\" };\nlet token = \"test-token-1\";\n",
        ),
        case(
            "fake key in a test",
            "tests/client.py",
            "client = Client(api_key=\"fake-api-key-for-tests-01\")\nassert client.token == \"dummy-token-2\"\n",
        ),
        case("empty", "empty.env", "API_KEY=\nTOKEN=\"\"\nPASSWORD=''\n"),
    ]
}

fn code() -> Vec<SecretCase> {
    let case = SecretCase::alike;
    vec![
        case(
            "function call",
            "auth.py",
            "password = get_password1()\ntoken = auth.create_access_token2(user)\nsecret = getpass(\"Secret 1: \")\n",
        ),
        case(
            "type annotation",
            "model.py",
            "class Login:\n    password: str\n    token: Optional[str] = None\n    api_key: SecretStr2\n",
        ),
        case(
            "rust types",
            "model.rs",
            "pub struct Login {\n    password: Secret32,\n    token: Vec<u8>,\n    api_key: [u8; 32],\n}\n",
        ),
        case(
            "typescript types",
            "model.ts",
            "interface Login {\n  password: string;\n  token?: Token2FA;\n  apiKey: Base64String;\n}\n",
        ),
        case(
            "go fields",
            "model.go",
            "cfg.Password = other.Password2\nsecretKey := hash.Sum256Bytes\ntoken = base64.StdEncoding2\n",
        ),
        case(
            "comparison",
            "check.js",
            "if (password !== confirmPassword2) throw new Error('a1');\nif (token == expectedToken2) ok();\n",
        ),
        case(
            "constants",
            "keys.java",
            "static final String PASSWORD_FIELD = \"password_field_2\";\nstatic final String TOKEN_HEADER = \"X-Auth-Token-2\";\n",
        ),
        case(
            "names of variables",
            "names.sh",
            "SECRET_NAME=prod/db/password-2\nKMS_KEY_ID=alias/app-key-1\nTOKEN_FILE=/run/secrets/token1\n",
        ),
        case(
            "names of secrets",
            "k8s/ref.yaml",
            "        valueFrom:\n          secretKeyRef:\n            name: payment-secret-v2\n            key: api-token-v1\n",
        ),
        case(
            "form",
            "login.html",
            "<input type=\"password\" id=\"password1\" name=\"password\" placeholder=\"Password 1\">\n<label for=\"token\">Token: 6 digits</label>\n",
        ),
        case(
            "messages",
            "messages.en.json",
            "{\"password\": \"Password must have 8 characters\", \"token\": \"Token_expired_1\", \"secret\": \"Secret2Label\"}\n",
        ),
        case("translations", "de.yml", "password: Passwort1\ntoken: Zugriffstoken\nsecret: Geheimnis\n"),
        case(
            "tokenizer",
            "tokenizer.json",
            "{\"eos_token\": \"<|endoftext|>\", \"pad_token\": \"[PAD1]\", \"unk_token_id\": 50256, \"bos_token\": \"<s1>\"}\n",
        ),
        case("numbers", "llm.toml", "max_tokens = 4096\nmax_token = 128000\ntoken_limit_v2 = 200_000\n"),
        case(
            "css classes",
            "app.css",
            ".sk-this-is-a-css-class-name-of-a-skeleton-loader-2 { color: red }\n.task-management-dashboard-component { top: 0 }\n",
        ),
        case(
            "slugs",
            "routes.ts",
            "const routes = [\"task-management-dashboard-component\", \"risk-assessment-long-name-of-a-page-2024\", \"disk-usage-report-v2-final-version-3\"];\n",
        ),
        case(
            "package names",
            "deps.json",
            "{\"sk-learn\": \"1.2.3\", \"xoxo-ui\": \"^2.0.0\", \"hf_hub_download\": \"0.1.0\", \"npm_config_registry\": \"x\"}\n",
        ),
        case(
            "pagination",
            "list.json",
            "{\"nextPageToken\": \"CAUQAA2x7Rk9LmPq4sTv8W\", \"kind\": \"list\"}\n",
        ),
        case(
            "public keys",
            "stripe.js",
            &format!(
                "const stripe = Stripe(\"{}{}\");\nconst publicKey = \"site-key-1\";\n",
                "pk_test_", "example"
            ),
        ),
        case(
            "test that fails",
            "spec/token_spec.rb",
            "expect(token).to eq(decoded_token_1)\nlet(:password) { Faker::Internet.password(min_length: 10) }\n",
        ),
        case(
            "regular expression",
            "lex.js",
            "const token = /^[a-z0-9_]{8,}$/i, password = /(?=.*[A-Z])(?=.*\\d)/;\n",
        ),
        case(
            "flags",
            "cli.md",
            "--token-file ./t1 --password-stdin --api-key-env NAME2 -u 1000:1000 --secret id=npm1\n",
        ),
        case(
            "nginx",
            "nginx.conf",
            "proxy_set_header Authorization $http_authorization2;\nauth_basic_user_file /etc/nginx/.htpasswd1;\n",
        ),
    ]
}

fn words() -> Vec<SecretCase> {
    let case = SecretCase::alike;
    vec![
        case(
            "prose about tokens",
            "guide.md",
            "The bearer token is sent as `Authorization: Bearer token`. Basic authentication: user and password, base64.\n",
        ),
        case(
            "prose about passwords",
            "faq.md",
            "Password: at least 12 characters. Forgot the password? Reset it at /reset-password?token=... within 24h.\n",
        ),
        case(
            "nsswitch",
            "nsswitch.conf",
            "passwd:         files systemd\nshadow:         files\ngroup: files2\n",
        ),
        case(
            "etc passwd",
            "passwd",
            "root:x:0:0:root:/root:/bin/bash\nbackup:x:34:34:backup:/var/backups:/usr/sbin/nologin\n",
        ),
        case(
            "ssh address",
            "remotes.txt",
            "ssh://git@example.com:22/a.git\nhttp://localhost:8080/a@b\nhttps://user@example.com/a\n",
        ),
        case(
            "times",
            "run.log",
            "10:11:12.345 token: refreshed in 12ms, password: ok, secret: rotated at 2026-01-01T10:11:12Z\n",
        ),
        case(
            "commit message",
            "COMMIT.txt",
            "auth: rename password to passphrase2, token: use v2\n\nCo-authored-by: Ann1 <ann@acme.dev>\n",
        ),
        case(
            "versions",
            "versions.txt",
            "token-service=1.24.3-alpine3.18\nvault_secret_version: v1.15.2-rc1+ent\npassword_policy=2024.10.1-lts\n",
        ),
    ]
}
