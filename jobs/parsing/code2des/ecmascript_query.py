"""What is asked of the trees of JavaScript and TypeScript."""

from __future__ import annotations

QUERY = """
(import_statement) @import

(export_statement source: (string)) @import

(variable_declarator value: (call_expression function: (identifier) @_require
  arguments: (arguments (string))) (#eq? @_require "require")) @import

(class_declaration) @type.class

(class) @type.class

(function_declaration) @function.function

(generator_function_declaration) @function.function

(return_statement (function_expression name: (_)) @function.function)

(arguments (function_expression name: (_)) @function.function)

(method_definition) @function.method

(variable_declarator value: [(arrow_function) (function_expression) (generator_function)]
  ) @function.lambda_var

(assignment_expression left: (member_expression)
  right: [(arrow_function) (function_expression)]) @function.function

(pair value: [(arrow_function) (function_expression)]) @function.function

(variable_declarator) @local

(call_expression) @call

(new_expression) @call

(throw_statement) @throw

[(if_statement) (for_statement) (for_in_statement) (while_statement) (do_statement)
 (catch_clause) (ternary_expression) (switch_case)] @branch

(binary_expression operator: ["&&" "||" "??"]) @branch

[(if_statement) (for_statement) (for_in_statement) (while_statement) (do_statement)
 (try_statement) (switch_statement)] @nest

(string) @string

(template_string) @string

(comment) @comment
"""
JAVASCRIPT = """
(field_definition value: [(arrow_function) (function_expression)]) @function.method

(field_definition) @field
"""
TYPESCRIPT = """
(interface_declaration) @type.interface

(type_alias_declaration) @type.alias

(enum_declaration) @type.enum

(abstract_class_declaration) @type.class

(internal_module) @type.namespace

(ambient_declaration "global") @type.namespace

(module) @type.namespace

(function_signature) @function.overload

(method_signature) @function.signature

(abstract_method_signature) @function.signature

(public_field_definition value: [(arrow_function) (function_expression)]) @function.method

(public_field_definition) @field

(property_signature) @field

(enum_assignment) @field

(enum_body (property_identifier) @field)

(import_alias) @import
"""

JSX = """
(jsx_opening_element) @element

(jsx_self_closing_element) @element
"""
