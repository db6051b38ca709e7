//! Directories in order, names that stay inside.

use super::*;

struct Tree(tempfile::TempDir);

impl Tree {
    fn new(files: &[&str]) -> Self {
        let tree = Self(tempfile::tempdir().unwrap());
        for file in files {
            tree.write(file, &format!("name: {}\nsteps: [{{id: a, command: x}}]\n", file.replace('/', "-")));
        }
        tree
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.path(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn path(&self, file: &str) -> PathBuf {
        self.0.path().join(file)
    }

    fn env(&self) -> Env {
        Env::empty()
            .with_variable("HOME", self.path("home"))
            .with_variable("GIT_CEILING_DIRECTORIES", std::env::temp_dir())
            .with_variable("AMPLIHACK_HOME", self.path("ahome"))
            .with_variable("AMPLIHACK_PACKAGE_RECIPE_DIR", self.path("pkg"))
            .with_variable(
                "RECIPE_RUNNER_RECIPE_DIRS",
                format!("{}:{}", self.path("e1").display(), self.path("e2").display()),
            )
    }

    fn discovery(&self, explicit: &[&str]) -> RecipeDiscovery {
        let explicit: Vec<PathBuf> = explicit.iter().map(PathBuf::from).collect();
        RecipeDiscovery::new(&self.env(), &self.path("work"), &explicit)
    }
}

#[test]
fn the_order_of_directories() {
    let order = [
        "pkg/n.yaml",
        "e1/n.yaml",
        "e2/n.yml",
        "ahome/amplifier-bundle/recipes/n.yaml",
        "home/.amplihack/amplifier-bundle/recipes/n.yaml",
        "home/.amplihack/.claude/recipes/n.yaml",
        "work/amplifier-bundle/recipes/n.yaml",
        "work/src/amplihack/amplifier-bundle/recipes/n.yaml",
        "work/.claude/recipes/n.yaml",
    ];
    let tree = Tree::new(&order);
    for file in order {
        assert_eq!(tree.discovery(&[]).find_recipe("n").unwrap(), tree.path(file));
        std::fs::remove_file(tree.path(file)).unwrap();
    }
    let error = tree.discovery(&[]).find_recipe("n").unwrap_err();
    assert_eq!(error.searched.len(), 9);
    assert!(error.to_string().contains("(does not exist)") || error.searched.iter().all(|dir| dir.is_dir()));
}

#[test]
fn named_directories_replace_the_others_at_the_top_only() {
    let tree = Tree::new(&["work/r/n.yaml", "work/r/n.yml", "pkg/m.yaml", "work/r/sub/deep.yaml"]);
    let discovery = tree.discovery(&["r"]);
    assert_eq!(discovery.find_recipe("n").unwrap(), tree.path("work/r/n.yaml"));
    assert!(discovery.find_recipe("m").is_err());
    let top = tree.path("elsewhere/top.yaml");
    assert_eq!(discovery.find_sub_recipe("m", &top, &top).unwrap(), tree.path("pkg/m.yaml"));
    assert_eq!(discovery.find_sub_recipe("sub/deep", &top, &top).unwrap(), tree.path("work/r/sub/deep.yaml"));
}

#[test]
fn sub_recipes_are_found_beside_and_above() {
    let tree = Tree::new(&[
        "top/beside.yaml",
        "work/here.yaml",
        "amplifier-bundle/recipes/above.yaml",
        "inner/own.yaml",
    ]);
    let discovery = tree.discovery(&[]);
    let top = tree.path("top/t.yaml");
    assert!(discovery.find_sub_recipe("above", &top, &top).is_err(), "without a repository");
    amplihack_testkit::create_repository(&tree.path(""));
    let discovery = tree.discovery(&[]);
    let (top, inner) = (tree.path("top/t.yaml"), tree.path("inner/i.yaml"));
    for (name, file) in [
        ("beside", "top/beside.yaml"),
        ("own", "inner/own.yaml"),
        ("here", "work/here.yaml"),
        ("above", "amplifier-bundle/recipes/above.yaml"),
    ] {
        assert_eq!(discovery.find_sub_recipe(name, &top, &inner).unwrap(), tree.path(file), "{name}");
    }
    amplihack_testkit::create_repository(&tree.path("work"));
    assert!(
        tree.discovery(&[]).find_sub_recipe("above", &top, &top).is_err(),
        "a repository ends the search"
    );
}

#[test]
fn names_stay_inside() {
    let tree = Tree::new(&["out/secret.yaml", "work/x.yaml"]);
    let top = tree.path("work/top.yaml");
    let discovery = tree.discovery(&[]);
    for name in ["../out/secret", "", ".", "a/../b", "/etc/x", "a//b", "x.yaml", "a\0"] {
        assert!(discovery.find_sub_recipe(name, &top, &top).unwrap_err().reason.is_some(), "{name}");
    }
    for name in ["../work/x", "", ".x", "a\\b", "a..b"] {
        assert!(discovery.find_recipe(name).unwrap_err().reason.is_some(), "{name}");
    }
    std::os::unix::fs::symlink(tree.path("out/secret.yaml"), tree.path("work/link.yaml")).unwrap();
    assert!(discovery.find_sub_recipe("link", &top, &top).is_err(), "a link that leads out");
    assert_eq!(discovery.find_entry("x.yaml", &tree.path("work")).unwrap(), tree.path("work/x.yaml"));
    assert!(discovery.find_entry("work", tree.0.path()).is_err(), "a directory is no recipe");
}

#[test]
fn agents() {
    let tree = Tree::new(&[]);
    tree.write("work/.claude/agents/builder.md", "BUILDER");
    tree.write("work/amplifier-bundle/agents/ns/core/deep.md", "DEEP");
    tree.write("work/.claude/agents/cat/special.md", "SPECIAL");
    let discovery = tree.discovery(&[]);
    let text = |reference: &str| discovery.find_agent(reference).map(|agent| agent.text);
    assert_eq!(text("amplihack:builder").unwrap(), "BUILDER");
    assert_eq!(text("ns:deep").unwrap(), "DEEP");
    assert_eq!(text("any:cat:special").unwrap(), "SPECIAL");
    assert_eq!(text("ns:ns:core:deep").unwrap(), "DEEP");
    for reference in ["plain", "", "a:", "a:../b", "a:b:c:d:e"] {
        assert!(text(reference).unwrap_err().reason.is_some(), "{reference}");
    }
    assert_eq!(text("ns:nobody").unwrap_err().searched.len(), 5);
}

#[test]
fn the_list_says_what_would_run() {
    let tree = Tree::new(&["d1/a.yaml", "d2/a.yaml", "d2/b.yml"]);
    tree.write("d2/broken.yaml", "name: [");
    let explicit = [tree.path("d1"), tree.path("d2"), tree.path("none")];
    let mut listed = RecipeDiscovery::new(&Env::empty(), tree.0.path(), &explicit).list_recipes();
    listed.retain(|found| !found.is_bundled());
    let names: Vec<(&str, bool)> =
        listed.iter().map(|item| (item.name.as_str(), item.recipe.is_ok())).collect();
    assert_eq!(names, [("a", true), ("b", true), ("broken", false)]);
    assert_eq!(listed[0].path, tree.path("d1/a.yaml"));
}

#[test]
fn a_bundled_recipe_is_there_unless_a_file_has_its_name() {
    let tree = Tree::new(&[]);
    let discovery = tree.discovery(&[]);
    let top = PathBuf::from("bundled:smart-orchestrator");
    assert_eq!(discovery.find_entry("smart-orchestrator", &tree.path("work")).unwrap(), top);
    // Nothing is looked for beside a recipe that is in no directory.
    let below =
        |discovery: &RecipeDiscovery| discovery.find_sub_recipe("default-workflow", &top, &top).unwrap();
    assert_eq!(below(&discovery), PathBuf::from("bundled:default-workflow"));
    assert!(
        discovery.list_recipes().iter().any(|found| found.name == "default-workflow" && found.is_bundled())
    );

    tree.write("work/.claude/recipes/default-workflow.yaml", "name: own\nsteps: [{id: a, command: x}]\n");
    let own = tree.path("work/.claude/recipes/default-workflow.yaml");
    assert_eq!(discovery.find_recipe("default-workflow").unwrap(), own);
    assert_eq!(below(&discovery), own);
    let listed = discovery.list_recipes();
    let found: Vec<_> = listed.iter().filter(|found| found.name == "default-workflow").collect();
    assert!(matches!(found[..], [found] if !found.is_bundled() && found.path == own));
    assert_eq!(
        discovery.find_recipe("bundled:default-workflow").unwrap(),
        PathBuf::from("bundled:default-workflow")
    );
    assert!(discovery.find_recipe("bundled:nothing").is_err());
}
