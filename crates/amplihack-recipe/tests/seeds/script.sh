f() { case {{x}} in a|'{{s}}') echo "$(cat <<E
{{x}} $(echo '{{s}}') ${y:-{{x}}} `echo "{{s}}"`
E
)";; esac; }
cat <<-'A' <<\B
	{{s}} $HOME
	A
{{x}}
B
echo $'\t{{x}}' "\{{x}} ${{s}}" ${x:{{x}}:1} ((1<<2)) <<<{{x}}
